"""Convolutions and pools."""

from collections.abc import Sequence

from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import pools, reduce, window
from compiler.frontend.functions.pools import Windows
from compiler.frontend.graph import Pairs, Value
from compiler.frontend.onnx.call import Call, Operator


def padding_of(call: Call, x: Value, kernel: Sequence[int]) -> Pairs:
    """The padding that pads or auto_pad ask for."""
    dims = len(kernel)
    strides = call.attribute("strides", (1,) * dims)
    dilations = call.attribute("dilations", (1,) * dims)
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        return ((0, 0),) * dims
    if mode == "NOTSET":
        pads = call.attribute("pads", (0,) * (2 * dims))
        return tuple(zip(pads[:dims], pads[dims:], strict=True))
    pairs = []
    for size, length, step, gap in zip(x.shape[2:], kernel, strides, dilations, strict=True):
        missing = max((-(-size // step) - 1) * step + (length - 1) * gap + 1 - size, 0)
        pairs.append(_halves(missing, mode))
    return tuple(pairs)


def _halves(total: int, mode: str) -> tuple[int, int]:
    small = total // 2
    return (small, total - small) if mode == "SAME_UPPER" else (total - small, small)


def conv_of(call: Call, x: Value, weight: Value, bias: Value | None) -> Value:
    """The convolution that the attributes describe, of these operands."""
    dims = weight.ndim - 2
    return window.conv(
        x,
        weight,
        bias,
        stride=call.attribute("strides", (1,) * dims),
        padding=padding_of(call, x, weight.shape[2:]),
        dilation=call.attribute("dilations", (1,) * dims),
        groups=call.attribute("group", 1),
    )


def _conv(call: Call) -> Value:
    return conv_of(call, call.value(0), call.value(1), call.optional(2))


def _conv_transpose(call: Call) -> Value:
    x, weight = call.value(0), call.value(1)
    dims = weight.ndim - 2
    pairs, extra = _cut_off(call, x, weight.shape[2:])
    return window.conv_transpose(
        x,
        weight,
        call.optional(2),
        stride=call.attribute("strides", (1,) * dims),
        padding=pairs,
        output_padding=extra,
        dilation=call.attribute("dilations", (1,) * dims),
        groups=call.attribute("group", 1),
    )


def _cut_off(call: Call, x: Value, kernel: Sequence[int]) -> tuple[Pairs, tuple[int, ...]]:
    """How much of the full result falls away at both ends of each axis, and what is added."""
    dims = len(kernel)
    strides = call.attribute("strides", (1,) * dims)
    dilations = call.attribute("dilations", (1,) * dims)
    extra = call.attribute("output_padding", (0,) * dims)
    mode = call.attribute("auto_pad", "NOTSET")
    wanted = call.attributes.get("output_shape")
    if wanted is None and mode in ("NOTSET", "VALID"):
        pads = call.attribute("pads", (0,) * (2 * dims))
        return tuple(zip(pads[:dims], pads[dims:], strict=True)), extra
    if wanted is None:
        wanted = tuple([n * step for n, step in zip(x.shape[2:], strides, strict=True)])
    wholes = [
        step * (n - 1) + (length - 1) * gap + 1 + more
        for n, length, step, gap, more in zip(
            x.shape[2:], kernel, strides, dilations, extra, strict=True
        )
    ]
    gaps = [whole - size for whole, size in zip(wholes, wanted[-dims:], strict=True)]
    more = tuple([e + max(0, -gap) for e, gap in zip(extra, gaps, strict=True)])
    return tuple([_halves(max(0, gap), mode) for gap in gaps]), more


def _windows(call: Call, x: Value) -> Windows:
    kernel: tuple[int, ...] = call.attribute("kernel_shape", ())
    ones = (1,) * len(kernel)
    strides = tuple(call.attribute("strides", ones))
    dilations = tuple(call.attribute("dilations", ones))
    padding = padding_of(call, x, kernel)
    if call.attribute("auto_pad", "NOTSET") in ("NOTSET", "VALID"):
        padding = _round_up(call, x, Windows(kernel, strides, padding, dilations))
    return Windows(kernel, strides, padding, dilations)


def _round_up(call: Call, x: Value, at: Windows) -> Pairs:
    """More padding at the end where the last, incomplete window counts as well."""
    if not call.attribute("ceil_mode", 0):
        return at.padding
    pairs = []
    sizes = zip(x.shape[2:], at.kernel, at.stride, at.dilation, at.padding, strict=True)
    for size, length, step, gap, (before, after) in sizes:
        reach = (length - 1) * gap + 1
        count = -(-(size + before + after - reach) // step) + 1
        if (count - 1) * step >= size + before:  # a window must start before the end
            count -= 1
        needed = (count - 1) * step + reach - size - before - after
        pairs.append((before, after + max(needed, 0)))
    return tuple(pairs)


def _max_pool(call: Call) -> tuple[Value, ...]:
    x = call.value(0)
    at = _windows(call, x)
    best = window.max_pool(x, at.kernel, stride=at.stride, padding=at.padding, dilation=at.dilation)
    if call.outputs == 1:
        return (best,)
    columns_first = bool(call.attribute("storage_order", 0))
    return best, pools.max_pool_places(x, at, columns_first=columns_first)


def _average_pool(call: Call) -> Value:
    x = call.value(0)
    at = _windows(call, x)
    nothing = ((0, 0),) * len(at.kernel)
    counted = padding_of(call, x, at.kernel) if call.attribute("count_include_pad", 0) else nothing
    return pools.avg_pool(x, at, counted)


def _lp_pool(call: Call) -> Value:
    x = call.value(0)
    return pools.lp_pool(x, _windows(call, x), int(call.attribute("p", 2)))


def _global_average(call: Call) -> Value:
    x = call.value(0)
    return reduce.mean(x, tuple(range(2, x.ndim)), keepdims=True)


def _global_max(call: Call) -> Value:
    x = call.value(0)
    return reduce.max_(x, tuple(range(2, x.ndim)), keepdims=True)


def _global_lp(call: Call) -> Value:
    x, p = call.value(0), int(call.attribute("p", 2))
    total = reduce.sum_(ew.power(ew.abs_(x), p), tuple(range(2, x.ndim)), keepdims=True)
    return ew.power(total, 1.0 / p)


OPERATORS: dict[str, Operator] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "GlobalAveragePool": _global_average,
    "GlobalLpPool": _global_lp,
    "GlobalMaxPool": _global_max,
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
}
