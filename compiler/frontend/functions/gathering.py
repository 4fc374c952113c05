"""Elements at computed places: what indexing, sorting and searching are made of.

A place is clamped to its axis before it becomes an offset, so that every read is proven to be
inside; what is outside is replaced by 0 afterwards.
"""

from collections.abc import Sequence
from math import prod

from compiler.frontend import graph
from compiler.frontend.formulas import known
from compiler.frontend.functions.elementwise import (
    add,
    greater_equal,
    less,
    logical_and,
    maximum,
    minimum,
    multiply,
    where,
)
from compiler.frontend.functions.scatter import added_along, rows_added
from compiler.frontend.graph import MOVEMENTS, Kind, Shape, Value, view_of
from compiler.frontend.operands import broadcast_to
from compiler.ir import BOOL, INT32, INT64, DType, View, ViewStack


def offset_dtype(size: int) -> DType:
    """The narrower dtype that holds every offset into `size` elements."""
    return INT32 if size <= int(INT32.highest) else INT64


def places_along(length: int, axis: int, shape: Shape, device: str) -> Value:
    """0 to length - 1 along one axis of `shape`, the same along the others."""
    ones = tuple([length if i == axis else 1 for i in range(len(shape))])
    whole = tuple([length if i == axis else size for i, size in enumerate(shape)])
    counted = graph.count((length,), offset_dtype(length), device)
    return graph.expand(graph.reshape(counted, ones), whole)


def inside_axis(places: Value, size: int) -> tuple[Value, Value]:
    """Places on an axis of `size`, negative ones counted from the end: clamped, and whether they
    were there."""
    if places.dtype.is_signed:
        if places.dtype.bits < 32:
            places = graph.cast(places, INT32)
        if not (places.dtype is INT64 or size <= int(INT32.highest)):
            places = graph.cast(places, INT64)
        places = where(less(places, 0), add(places, size), places)
        found = logical_and(greater_equal(places, 0), less(places, size))
        clamped = minimum(maximum(places, 0), size - 1)
    else:
        limit = int(places.dtype.highest)
        found = less(places, min(size, limit)) if size <= limit else less(places, places)
        if size > limit:  # every number that the dtype holds is a place
            found = graph.full(1, found.dtype, places.shape, places.device)
        clamped = minimum(places, min(size - 1, limit))
    return graph.cast(clamped, offset_dtype(size)), found


def rows_at(x: Value, places: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    """x with the axes that `places` names replaced, in front, by the axes of `shape`.

    `places` are of that shape. Where one of them is outside its axis, the result is 0.
    """
    picked = _picked(x, places, shape)
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


def _picked(x: Value, places: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    if x.size == 0:
        rest = [n for axis, n in enumerate(x.shape) if axis not in dict(places)]
        return graph.full(0, x.dtype, (*shape, *rest), x.device)
    base, view = _below_views(x)
    dtype = offset_dtype(base.size)
    named = dict(places)
    rest = [axis for axis in range(x.ndim) if axis not in named]
    whole = (*shape, *[x.shape[axis] for axis in rest])
    offsets = graph.full(_fixed(view.offset), dtype, whole, x.device)
    found: Value | None = None
    for axis, given in places:
        clamped, is_found = inside_axis(given, x.shape[axis])
        term = multiply(graph.cast(clamped, dtype), _fixed(view.strides[axis]))
        offsets = add(offsets, broadcast_to(_widened(term, len(rest)), whole))
        found = is_found if found is None else logical_and(found, is_found)
    for number, axis in enumerate(rest):
        along = places_along(x.shape[axis], len(shape) + number, whole, x.device)
        step = _fixed(view.strides[axis])
        offsets = add(offsets, multiply(graph.cast(along, dtype), step))
    picked = graph.gather(base, offsets)
    if found is None:
        return picked
    inside = broadcast_to(_widened(found, len(rest)), whole)
    return where(inside, picked, graph.full(0, x.dtype, whole, x.device))


def _widened(value: Value, count: int) -> Value:
    return graph.reshape(value, (*value.shape, *([1] * count)))


def _fixed(size: object) -> int:
    assert isinstance(size, int), "tensors have no symbolic sizes"
    return size


def _below_views(x: Value) -> tuple[Value, View]:
    """What lies below movements that one view expresses, and that view: no copy is made."""
    base, stack = x, ViewStack.contiguous(x.shape)
    best = (x, stack.views[0])
    while base.kind in MOVEMENTS:
        stack = view_of(base).compose(stack)
        base = base.src[0]
        if len(stack.views) > 1 or stack.views[0].mask is not None or stack.is_void:
            break
        if base.kind is Kind.SOURCE or base.size <= x.size:
            best = (base, stack.views[0])
    return best


def along_axis(x: Value, places: Value, axis: int) -> Value:
    """Elements of `x` at places along one axis; the other axes broadcast, as in NumPy."""
    shape = tuple(
        [places.shape[i] if i == axis else max(n, places.shape[i]) for i, n in enumerate(x.shape)]
    )
    wide = broadcast_to(places, shape)
    others = [(i, _own_place(n, i, shape, x)) for i, n in enumerate(x.shape) if i != axis]
    picked = rows_at(x, [(axis, wide), *others], shape)
    is_whole = all(n == shape[i] for i, n in enumerate(x.shape) if i != axis)
    if not is_whole or not x.dtype.is_float:
        return picked
    return known(picked, (x,), lambda g, y: _gradient_along(g, x, wide, axis))


def _gradient_along(g: Value, x: Value, places: Value, axis: int) -> Value:
    """As of any rows, but each element is only looked for along its axis."""
    clamped, is_found = inside_axis(places, x.shape[axis])
    return added_along(g, where(is_found, clamped, -1), axis, x.shape[axis])


def _own_place(length: int, axis: int, shape: Shape, x: Value) -> Value:
    """Where the other axes read: where they stand, or always the one element they have."""
    if length == shape[axis]:
        return places_along(length, axis, shape, x.device)
    return graph.full(0, INT32, shape, x.device)
