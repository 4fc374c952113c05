"""Elements at computed places: what indexing is made of. Their gradient goes back to the places."""

from collections.abc import Sequence
from math import prod

from compiler.frontend import graph
from compiler.frontend.formulas import known
from compiler.frontend.functions.elementwise import add, logical_and, multiply, where
from compiler.frontend.functions.picking import (
    inside_axis,
    offset_dtype,
    picked_along,
    picked_rows,
    shape_along,
)
from compiler.frontend.functions.scatter import added_along, rows_added
from compiler.frontend.graph import Shape, Value
from compiler.frontend.operands import broadcast_to
from compiler.ir import BOOL


def rows_at(x: Value, places: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    """x with the axes that `places` names replaced, in front, by the axes of `shape`.

    `places` are of that shape. Where one of them is outside its axis, the result is 0.
    """
    picked = picked_rows(x, places, shape)
    if not x.dtype.is_float:
        return picked
    return known(picked, (x,), lambda g, y: _rows_gradient(g, x, places, shape))


def _rows_gradient(g: Value, x: Value, places: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    """The rows that were picked, added up where they came from."""
    axes = [axis for axis, _ in places]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    length = prod(x.shape[axis] for axis in axes)
    number = graph.full(0, offset_dtype(length), shape, x.device)
    inside = graph.full(1, BOOL, shape, x.device)
    for axis, given in places:
        clamped, is_found = inside_axis(given, x.shape[axis])
        number = add(multiply(number, x.shape[axis]), graph.cast(clamped, number.dtype))
        inside = logical_and(inside, is_found)
    flat = graph.reshape(where(inside, number, -1), (number.size,))
    kept = tuple([x.shape[axis] for axis in rest])
    rows = rows_added(graph.reshape(g, (number.size, *kept)), flat, length)
    turned = graph.reshape(rows, (*[x.shape[axis] for axis in axes], *kept))
    order = [*axes, *rest]
    return graph.permute(turned, tuple([order.index(axis) for axis in range(x.ndim)]))


def along_axis(x: Value, places: Value, axis: int) -> Value:
    """Elements of `x` at places along one axis; the other axes broadcast, as in NumPy."""
    shape = shape_along(x, places, axis)
    picked = picked_along(x, places, axis)
    is_whole = all(n == shape[i] for i, n in enumerate(x.shape) if i != axis)
    if not is_whole or not x.dtype.is_float:
        return picked
    wide = broadcast_to(places, shape)
    return known(picked, (x,), lambda g, y: _gradient_along(g, x, wide, axis))


def _gradient_along(g: Value, x: Value, places: Value, axis: int) -> Value:
    """As of any rows, but each element is only looked for along its axis."""
    clamped, is_found = inside_axis(places, x.shape[axis])
    return added_along(g, where(is_found, clamped, -1), axis, x.shape[axis])
