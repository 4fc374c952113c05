"""Arrays made of parts of others: differences, grids, diagonals, repetitions that vary."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import graph
from compiler.frontend.functions.elementwise import multiply, not_equal, subtract
from compiler.frontend.functions.gathering import rows_at
from compiler.frontend.functions.movement import concat, moveaxis, repeat
from compiler.frontend.functions.picking import offset_dtype
from compiler.frontend.functions.reduce import sum_
from compiler.frontend.functions.scan import cumsum
from compiler.frontend.functions.sorting import searchsorted
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, align, as_value, require_values
from compiler.frontend.realize import to_numpy
from compiler.frontend.shapes import as_axis, as_int
from compiler.frontend.symbolic import INTEGERS, fixed
from compiler.ir import BOOL, INT64


def part(x: Value, axis: int, start: int, stop: int) -> Value:
    """Elements start to stop along an axis."""
    bounds = [(0, size) for size in x.shape]
    bounds[axis] = (start, stop)
    return graph.shrink(x, tuple(bounds))


def diff(
    x: Value,
    axis: int = -1,
    n: int = 1,
    *,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Value:
    """The n-th differences of neighbours along an axis."""
    along = as_axis(axis, x.ndim)
    order = as_int(n, "n")
    if order < 0:
        raise ShapeError(f"diff of order {order}: use 0 or more")
    if order == 0:
        return x
    ends = [None if end is None else as_value(end, x.device) for end in (prepend, append)]
    x = concat([piece for piece in (ends[0], x, ends[1]) if piece is not None], along)
    for _ in range(min(order, x.shape[along])):  # then nothing is left
        size = x.shape[along]
        after, before = part(x, along, min(1, size), size), part(x, along, 0, max(size - 1, 0))
        x = not_equal(after, before) if x.dtype is BOOL else subtract(after, before)
    return x


def meshgrid(*arrays: Value, indexing: str = "xy") -> tuple[Value, ...]:
    """Each array along an axis of its own, repeated along the others'."""
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid with indexing {indexing!r}: use 'xy' or 'ij'")
    require_values("meshgrid", *arrays)
    if any(array.ndim != 1 for array in arrays):
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise ShapeError(f"meshgrid of {shapes}: needs arrays of one dimension")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    sizes = [0] * len(arrays)
    for place, array in zip(order, arrays, strict=True):
        sizes[place] = array.size
    found: list[Value] = []
    for place, array in zip(order, arrays, strict=True):
        column = [array.size if i == place else 1 for i in range(len(sizes))]
        found.append(graph.expand(graph.reshape(array, tuple(column)), tuple(sizes)))
    return tuple(found)


def repeat_each(x: Value, repeats: int | Operand, axis: int | None = None) -> Value:
    """Each element `repeats` times: a number for all, or one for each, which are realized."""
    if isinstance(repeats, INTEGERS):
        return repeat(x, repeats, axis)
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    along, counts = as_axis(axis, x.ndim), as_value(repeats, x.device)
    if not counts.dtype.is_int:
        raise DTypeError(f"repeats of {counts.dtype}: use integers")
    if counts.ndim > 1 or counts.size not in (1, x.shape[along]):
        raise ShapeError(f"repeats of {counts.shape}: needs one for each of {x.shape[along]}")
    if counts.size == 1:
        return repeat(x, int(to_numpy(counts).reshape(())), along)
    numbers = to_numpy(counts)
    if (numbers < 0).any():
        raise ShapeError(f"repeats {numbers.min()}: is negative")
    ends = cumsum(graph.cast(counts, INT64), 0)
    total = int(numbers.sum())
    wanted = graph.count((total,), offset_dtype(total), x.device)
    places = searchsorted(ends, graph.cast(wanted, INT64), side="right")
    return moveaxis(rows_at(x, [(along, places)], (total,)), 0, along)


def diagonal(x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """The elements of a diagonal of two axes, as the last axis."""
    if x.ndim < 2:
        raise ShapeError(f"diagonal of shape {x.shape}: needs two dimensions")
    rows, columns = as_axis(axis1, x.ndim), as_axis(axis2, x.ndim)
    if rows == columns:
        raise ShapeError(f"diagonal of axes {axis1} and {axis2}: are the same")
    turned = moveaxis(x, (rows, columns), (-2, -1))
    n, m = turned.shape[-2:]
    start = as_int(offset, "offset")
    down, right = max(-start, 0), max(start, 0)
    length = fixed(max(0, min(n - down, m - right)))  # it is in a step
    if length == 0:
        return graph.full(0, x.dtype, (*turned.shape[:-2], 0), x.device)
    # row by row, the diagonal is every (m + 1)-th element
    cut = part(part(turned, turned.ndim - 2, down, down + length), turned.ndim - 1, right, m)
    cut = part(cut, cut.ndim - 1, 0, length)
    flat = graph.reshape(cut, (*cut.shape[:-2], length * length))
    steps = (*([1] * (flat.ndim - 1)), length + 1)
    return graph.stride(flat, steps)


def trace(x: Value, offset: int = 0, *, dtype: object = None) -> Value:
    """The sum of a diagonal of the last two axes."""
    return sum_(diagonal(x, offset), -1, dtype=dtype)


def cross(x1: Operand, x2: Operand, axis: int = -1) -> Value:
    """The vector product over an axis of size 3."""
    a, b = align(x1, x2)
    along = as_axis(axis, a.ndim)
    if a.shape[along] != 3:
        raise ShapeError(f"cross of {a.shape} along {axis}: needs 3 elements there")
    left, right = [[part(v, along, i, i + 1) for i in range(3)] for v in (a, b)]
    parts = [
        subtract(multiply(left[i], right[j]), multiply(left[j], right[i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return concat(parts, along)
