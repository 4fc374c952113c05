"""Convolutions and pools over the last axes: windows are views, padding and strides are free.

Shapes are (batch, channels, *spatial). Padding is one number, one per spatial axis, or (before,
after) for each.
"""

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from compiler.errors import ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.formulas import known
from compiler.frontend.functions import movement
from compiler.frontend.functions.adjoint import (
    Geometry,
    input_gradient,
    stored_once,
    weight_gradient,
)
from compiler.frontend.functions.elementwise import add, divide
from compiler.frontend.graph import Number, Pairs, Value
from compiler.frontend.operands import require_values
from compiler.frontend.shapes import as_int, per_axis
from compiler.ir import FLOAT64, Op

Padding: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]
PerAxis: TypeAlias = int | Sequence[int]


def conv(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Value:
    """The cross-correlation of x (n, c, *spatial) with weight (out, c / groups, *kernel)."""
    _check_conv(x, weight, bias, groups)
    dtype = dtypes.promote(x.dtype, weight.dtype)
    wide = dtypes.accumulator(dtype)
    dims = weight.ndim - 2
    how = Geometry(
        per_axis(stride, dims, "stride"),
        _padding(padding, dims),
        per_axis(dilation, dims, "dilation"),
        groups,
    )
    result = _convolve(graph.cast(x, wide), graph.cast(weight, wide), how)
    if bias is not None:
        column = graph.reshape(graph.cast(bias, wide), (1, bias.size, *([1] * dims)))
        result = add(result, column)
    return graph.cast(result, dtype)


def _convolve(x: Value, weight: Value, how: Geometry) -> Value:
    return known(
        _sum_of_windows(x, weight, how),
        (x, weight),
        # both read it many times: it goes to memory once
        lambda g, y: input_gradient(graph.contiguous(g), x, weight, how, _convolve),
        lambda g, y: weight_gradient(graph.contiguous(g), x, weight, how, _convolve),
    )


def _sum_of_windows(x: Value, weight: Value, how: Geometry) -> Value:
    dims, groups = weight.ndim - 2, how.groups
    batch, channels = x.shape[:2]
    outputs, kernel = weight.shape[0] // groups, weight.shape[2:]
    padded = _pad(x, how.padding, 0)
    padded = stored_once(padded, x, outputs)
    seen = windows(padded, kernel, how.strides, how.dilations)  # n c *out *kernel
    places = seen.shape[2 : 2 + dims]
    seen = graph.reshape(seen, (batch, groups, 1, channels // groups, *seen.shape[2:]))
    order = (0, 1, 2, *range(4, 4 + dims), 3, *range(4 + dims, 4 + 2 * dims))
    seen = graph.permute(seen, order)  # n g 1 *out c *kernel
    taps = graph.reshape(weight, (1, groups, outputs, *([1] * dims), channels // groups, *kernel))
    shape = (batch, groups, outputs, *places, channels // groups, *kernel)
    product = graph.elementwise(Op.MUL, graph.expand(seen, shape), graph.expand(taps, shape))
    summed = graph.reduce(Op.ADD, product, tuple(range(3 + dims, len(shape))))
    return graph.reshape(summed, (batch, groups * outputs, *places))


def _check_conv(x: Value, weight: Value, bias: Value | None, groups: int) -> None:
    require_values("conv", x, weight, *([] if bias is None else [bias]))
    _check_groups(groups)
    sizes = f"conv of {x.shape} with {weight.shape} in {groups} groups"
    if weight.ndim < 3 or x.ndim != weight.ndim:
        raise ShapeError(f"{sizes}: needs (n, c, *spatial) and (out, c / groups, *kernel)")
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(f"{sizes}: the channels do not fit")
    if bias is not None and bias.shape != (weight.shape[0],):
        raise ShapeError(f"{sizes}: bias {bias.shape}, expected ({weight.shape[0]},)")


def _check_groups(groups: int) -> None:
    if as_int(groups, "groups") < 1:
        raise ShapeError(f"groups {groups}: use 1 or more")


def conv_transpose(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Value:
    """The adjoint of `conv`: x (n, c, *spatial) spread by weight (c, out / groups, *kernel)."""
    _check_transpose(x, weight, bias, groups)
    dims = weight.ndim - 2
    pairs, more = _padding(padding, dims), per_axis(output_padding, dims, "output_padding")
    steps, gaps = per_axis(stride, dims, "stride"), per_axis(dilation, dims, "dilation")
    if min((*steps, *gaps)) < 1 or min(more) < 0:
        raise ShapeError(f"stride {steps}, dilation {gaps}, output padding {more}: are too small")
    ends = zip(x.shape[2:], weight.shape[2:], steps, gaps, pairs, more, strict=True)
    spatial = [(n - 1) * s + (k - 1) * d + 1 - sum(p) + e for n, k, s, d, p, e in ends]
    shape = (x.shape[0], weight.shape[1] * groups, *spatial)
    if min(spatial) < 1:
        raise ShapeError(f"conv_transpose of {x.shape} with {weight.shape}: gives {shape}")
    dtype = dtypes.promote(x.dtype, weight.dtype)
    wide = dtypes.accumulator(dtype)
    like = graph.full(0, wide, shape, x.device)
    how = Geometry(steps, pairs, gaps, groups)
    taps = graph.cast(weight, wide)
    result = input_gradient(graph.cast(x, wide), like, taps, how, _convolve)
    if bias is not None:
        result = add(result, graph.reshape(graph.cast(bias, wide), (1, bias.size, *([1] * dims))))
    return graph.cast(result, dtype)


def _check_transpose(x: Value, weight: Value, bias: Value | None, groups: int) -> None:
    require_values("conv_transpose", x, weight, *([] if bias is None else [bias]))
    _check_groups(groups)
    sizes = f"conv_transpose of {x.shape} with {weight.shape} in {groups} groups"
    if weight.ndim < 3 or x.ndim != weight.ndim:
        raise ShapeError(f"{sizes}: needs (n, c, *spatial) and (c, out / groups, *kernel)")
    if x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise ShapeError(f"{sizes}: the channels do not fit")
    if bias is not None and bias.shape != (weight.shape[1] * groups,):
        raise ShapeError(f"{sizes}: bias {bias.shape}, expected ({weight.shape[1] * groups},)")


def max_pool(
    x: Value,
    kernel: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
) -> Value:
    """The greatest element of each window; padding never wins. `stride` is the kernel's size."""
    return _pool(Op.MAX, x, kernel, stride, padding, dilation)


def avg_pool(
    x: Value,
    kernel: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    count_include_pad: bool = True,
) -> Value:
    """The average of each window; padding counts as zeros, or not at all."""
    dtype = x.dtype if x.dtype.is_float else FLOAT64
    wide = graph.cast(x, dtypes.accumulator(dtype))
    total = _pool(Op.ADD, wide, kernel, stride, padding, dilation)
    if count_include_pad:
        taps = float(prod(per_axis(kernel, _dims(x, kernel), "kernel")))
        return graph.cast(divide(total, taps), dtype)
    one = graph.full(1, wide.dtype, x.shape, x.device)
    count = _pool(Op.ADD, one, kernel, stride, padding, dilation)
    return graph.cast(divide(total, count), dtype)


def _dims(x: Value, kernel: PerAxis) -> int:
    return len(kernel) if isinstance(kernel, Sequence) else x.ndim - 2


def _pool(
    op: Op, x: Value, kernel: PerAxis, stride: PerAxis | None, padding: Padding, dilation: PerAxis
) -> Value:
    dims = _dims(x, kernel)
    if not 1 <= dims <= x.ndim:
        raise ShapeError(f"pool of {x.shape}: its windows have {dims} axes")
    sizes = per_axis(kernel, dims, "kernel")
    filler = graph.identity(op, x.dtype)
    padded = _pad(x, _padding(padding, dims), filler)
    seen = windows(padded, sizes, sizes if stride is None else stride, dilation)
    return graph.reduce(op, seen, tuple(range(seen.ndim - dims, seen.ndim)))


def _padding(padding: Padding, dims: int) -> Pairs:
    if not isinstance(padding, Sequence):
        both = as_int(padding, "padding")
        return ((both, both),) * dims
    pairs = [tuple(item) if isinstance(item, Sequence) else (item, item) for item in padding]
    if len(pairs) != dims or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"padding {padding}: needs one number or pair for each of {dims} axes")
    return tuple([(as_int(pair[0], "padding"), as_int(pair[1], "padding")) for pair in pairs])


def _pad(x: Value, pairs: Pairs, filler: Number) -> Value:
    if all(pair == (0, 0) for pair in pairs):
        return x
    widths = ((0, 0),) * (x.ndim - len(pairs)) + pairs
    return movement.pad(x, widths, constant_values=filler)


def windows(x: Value, kernel: Sequence[int], stride: PerAxis, dilation: PerAxis) -> Value:
    """(*lead, *spatial) as (*lead, *windows, *places in a window)."""
    dims = len(kernel)
    steps, gaps = per_axis(stride, dims, "stride"), per_axis(dilation, dims, "dilation")
    if min((*kernel, *steps, *gaps)) < 1:
        raise ShapeError(f"kernel {kernel}, stride {steps}, dilation {gaps}: must be positive")
    lead = x.ndim - dims
    for i, (size, step, gap) in enumerate(zip(kernel, steps, gaps, strict=True)):
        axis = lead + 2 * i
        if (size - 1) * gap + 1 > x.shape[axis]:
            raise ShapeError(f"kernel {kernel}, dilation {gaps}: larger than padded {x.shape}")
        x = graph.windows(x, axis, size, step, gap)
    places = [lead + 2 * i for i in range(dims)]
    return graph.permute(x, (*range(lead), *places, *[axis + 1 for axis in places]))
