"""Convolutions and pools."""

from collections.abc import Sequence

from compiler.errors import ModelError
from compiler.frontend.functions import reduce, window
from compiler.frontend.graph import Pairs, Value
from compiler.frontend.onnx.call import Call, Operator


def _padding(call: Call, x: Value, kernel: Sequence[int]) -> Pairs:
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
        small = missing // 2
        pairs.append((small, missing - small) if mode == "SAME_UPPER" else (missing - small, small))
    return tuple(pairs)


def _conv(call: Call) -> Value:
    x, weight = call.value(0), call.value(1)
    dims = weight.ndim - 2
    return window.conv(
        x,
        weight,
        call.optional(2),
        stride=call.attribute("strides", (1,) * dims),
        padding=_padding(call, x, weight.shape[2:]),
        dilation=call.attribute("dilations", (1,) * dims),
        groups=call.attribute("group", 1),
    )


def _round_up(call: Call, x: Value, kernel: Sequence[int], padding: Pairs) -> Pairs:
    """More padding at the end where the last, incomplete window counts as well."""
    if not call.attribute("ceil_mode", 0):
        return padding
    strides = call.attribute("strides", (1,) * len(kernel))
    dilations = call.attribute("dilations", (1,) * len(kernel))
    pairs = []
    sizes = zip(x.shape[2:], kernel, strides, dilations, padding, strict=True)
    for size, length, step, gap, (before, after) in sizes:
        reach = (length - 1) * gap + 1
        count = -(-(size + before + after - reach) // step) + 1
        if (count - 1) * step >= size + before:  # a window must start before the end
            count -= 1
        needed = (count - 1) * step + reach - size - before - after
        pairs.append((before, after + max(needed, 0)))
    return tuple(pairs)


def _max_pool(call: Call) -> Value:
    if call.outputs > 1:
        raise ModelError(f"MaxPool {call.name}: the positions output is not supported")
    x, kernel = call.value(0), call.attribute("kernel_shape", ())
    return window.max_pool(
        x,
        kernel,
        stride=call.attribute("strides", (1,) * len(kernel)),
        padding=_round_up(call, x, kernel, _padding(call, x, kernel)),
        dilation=call.attribute("dilations", (1,) * len(kernel)),
    )


def _average_pool(call: Call) -> Value:
    x, kernel = call.value(0), call.attribute("kernel_shape", ())
    padding = _padding(call, x, kernel)
    rounded = _round_up(call, x, kernel, padding)
    counts_padding = bool(call.attribute("count_include_pad", 0))
    if counts_padding and rounded != padding:
        raise ModelError(f"AveragePool {call.name}: ceil_mode with counted padding")
    return window.avg_pool(
        x,
        kernel,
        stride=call.attribute("strides", (1,) * len(kernel)),
        padding=rounded,
        dilation=call.attribute("dilations", (1,) * len(kernel)),
        count_include_pad=counts_padding,
    )


def _global_average(call: Call) -> Value:
    x = call.value(0)
    return reduce.mean(x, tuple(range(2, x.ndim)), keepdims=True)


def _global_max(call: Call) -> Value:
    x = call.value(0)
    return reduce.max_(x, tuple(range(2, x.ndim)), keepdims=True)


OPERATORS: dict[str, Operator] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "GlobalAveragePool": _global_average,
    "GlobalMaxPool": _global_max,
    "MaxPool": _max_pool,
}
