"""Running sums and products: over windows that reach back, in blocks once the axis is long."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions.movement import pad
from compiler.frontend.graph import Value
from compiler.frontend.shapes import as_axis
from compiler.frontend.symbolic import largest, smallest
from compiler.ir import BOOL, Op

_NAMES = {Op.ADD: "running sum", Op.MUL: "running product"}
# A block of n elements takes n * n steps, n elements in blocks take n * BLOCK and a kernel or two
# for each level of blocks.
BLOCK = 16


def cumsum(
    x: Value,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Value:
    """Sums of everything up to each element; with `include_initial`, a 0 before the first."""
    return _cumulative(Op.ADD, x, axis, dtype, include_initial=include_initial)


def cumprod(
    x: Value,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Value:
    """Products of everything up to each element; with `include_initial`, a 1 before the first."""
    return _cumulative(Op.MUL, x, axis, dtype, include_initial=include_initial)


def cumulative_sum(
    x: Value,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Value:
    """`cumsum`, for which only arrays of one axis may leave out which."""
    return cumsum(x, _named(Op.ADD, x, axis), dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Value,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Value:
    """`cumprod`, for which only arrays of one axis may leave out which."""
    return cumprod(x, _named(Op.MUL, x, axis), dtype=dtype, include_initial=include_initial)


def _named(op: Op, x: Value, axis: int | None) -> int:
    if axis is None and x.ndim > 1:
        raise ShapeError(f"{_NAMES[op]} of shape {x.shape}: name an axis")
    return 0 if axis is None else axis


def _cumulative(
    op: Op, x: Value, axis: int | None, dtype: DTypeLike | None, *, include_initial: bool
) -> Value:
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    if x.ndim == 0:
        raise ShapeError(f"{_NAMES[op]} of shape (): needs at least one dimension")
    along = as_axis(axis, x.ndim)
    result = dtypes.sum_of(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    if result is BOOL:
        raise DTypeError(f"{_NAMES[op]} to bool: give an integer dtype")
    wide = graph.cast(x, dtypes.accumulator(result))
    if include_initial:
        wide = _shifted(op, wide, along, 1, 0)
    return graph.cast(_scan(op, wide, along), result)


def _shifted(op: Op, x: Value, axis: int, before: int, after: int) -> Value:
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    return pad(x, widths, constant_values=graph.identity(op, x.dtype))


def _scan(op: Op, x: Value, axis: int) -> Value:
    """Scans axis `axis` of x by an associative op with an identity."""
    length = x.shape[axis]
    if x.size == 0 or length == 1:
        return x
    if largest(length) <= BLOCK:
        ahead = length - 1 if smallest(length) > 0 else length  # one more: no window of nothing
        reach = graph.windows(_shifted(op, x, axis, ahead, 0), axis, ahead + 1)
        return graph.reduce(op, reach, (axis + 1,))
    blocks = -(-length // BLOCK)
    padded = _shifted(op, x, axis, 0, blocks * BLOCK - length)
    shape = (*x.shape[:axis], blocks, BLOCK, *x.shape[axis + 1 :])
    inside = _scan(op, graph.reshape(padded, shape), axis + 1)
    totals = _ends(inside, axis + 1)
    # the last is dropped afterwards: there may be no other, and a symbolic size is never 0
    before = _ends_dropped(_shifted(op, _scan(op, totals, axis), axis, 1, 0), axis)
    carried = graph.expand(
        graph.reshape(before, (*before.shape[: axis + 1], 1, *before.shape[axis + 1 :])), shape
    )
    joined = graph.reshape(graph.elementwise(op, carried, inside), padded.shape)
    bounds = [(0, size) for size in joined.shape]
    bounds[axis] = (0, length)
    return graph.shrink(joined, tuple(bounds))


def _ends(x: Value, axis: int) -> Value:
    """The last element along an axis, without the axis."""
    bounds = [(0, size) for size in x.shape]
    bounds[axis] = (x.shape[axis] - 1, x.shape[axis])
    return graph.reshape(graph.shrink(x, tuple(bounds)), x.shape[:axis] + x.shape[axis + 1 :])


def _ends_dropped(x: Value, axis: int) -> Value:
    bounds = [(0, size) for size in x.shape]
    bounds[axis] = (0, x.shape[axis] - 1)
    return graph.shrink(x, tuple(bounds))
