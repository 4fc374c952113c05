"""Elements at computed places, without a gradient: what sorting and scattering are made of.

A place is clamped to its axis before it becomes an offset, so that every read is proven to be
inside; what is outside is replaced by 0 afterwards.
"""

from collections.abc import Sequence

from compiler.frontend import graph
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
from compiler.frontend.graph import MOVEMENTS, Kind, Shape, Value, view_of
from compiler.frontend.operands import broadcast_to
from compiler.frontend.symbolic import at, formulas, largest
from compiler.ir import BOOL, INT32, INT64, DType, View, ViewStack


def offset_dtype(size: int) -> DType:
    """The narrower dtype that holds every offset into `size` elements."""
    return INT32 if largest(size) <= int(INT32.highest) else INT64


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
        if not (places.dtype is INT64 or largest(size) <= int(INT32.highest)):
            places = graph.cast(places, INT64)
        places = where(less(places, 0), add(places, size), places)
        found = logical_and(greater_equal(places, 0), less(places, size))
        clamped = minimum(maximum(places, 0), size - 1)
    elif largest(size) > int(places.dtype.highest):  # every number that the dtype holds is a place
        found, clamped = graph.full(1, BOOL, places.shape, places.device), places
    else:
        found, clamped = less(places, size), minimum(places, size - 1)
    return graph.cast(clamped, offset_dtype(size)), found


def picked_rows(x: Value, places: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    """x with the axes that `places` names replaced, in front, by the axes of `shape`.

    `places` are of that shape. Where one of them is outside its axis, the result is 0.
    """
    if x.size == 0:
        rest = [n for axis, n in enumerate(x.shape) if axis not in dict(places)]
        return graph.full(0, x.dtype, (*shape, *rest), x.device)
    base, view = _below_views(x)
    dtype = offset_dtype(base.size)
    named = dict(places)
    rest = [axis for axis in range(x.ndim) if axis not in named]
    whole = (*shape, *[x.shape[axis] for axis in rest])
    offsets = graph.full(at(view.offset, x.bindings), dtype, whole, x.device)
    found: Value | None = None
    for axis, given in places:
        clamped, is_found = inside_axis(given, x.shape[axis])
        term = _scaled(graph.cast(clamped, dtype), at(view.strides[axis], x.bindings))
        offsets = add(offsets, broadcast_to(_widened(term, len(rest)), whole))
        found = is_found if found is None else logical_and(found, is_found)
    for number, axis in enumerate(rest):
        step = at(view.strides[axis], x.bindings)
        if step != 0:
            along = places_along(x.shape[axis], len(shape) + number, whole, x.device)
            offsets = add(offsets, _scaled(graph.cast(along, dtype), step))
    picked = graph.gather(base, offsets)
    if found is None:
        return picked
    inside = broadcast_to(_widened(found, len(rest)), whole)
    return where(inside, picked, graph.full(0, x.dtype, whole, x.device))


def _scaled(x: Value, step: int) -> Value:
    return x if step == 1 else multiply(x, step)


def _widened(value: Value, count: int) -> Value:
    return graph.reshape(value, (*value.shape, *([1] * count)))


def _below_views(x: Value) -> tuple[Value, View]:
    """What lies below movements that one view expresses, and that view: no copy is made."""
    base, stack = x, ViewStack.contiguous(formulas(x.shape))
    best = (x, stack.views[0])
    while base.kind in MOVEMENTS:
        stack = view_of(base).compose(stack)
        base = base.src[0]
        if len(stack.views) > 1 or stack.views[0].mask is not None or stack.is_void:
            break
        if base.kind is Kind.SOURCE or largest(base.size) <= largest(x.size):
            best = (base, stack.views[0])
    return best


def picked_along(x: Value, places: Value, axis: int) -> Value:
    """Elements of `x` at places along one axis; the other axes broadcast, as in NumPy."""
    shape = shape_along(x, places, axis)
    others = [(i, _own_place(n, i, shape, x)) for i, n in enumerate(x.shape) if i != axis]
    return picked_rows(x, [(axis, broadcast_to(places, shape)), *others], shape)


def shape_along(x: Value, places: Value, axis: int) -> Shape:
    """The shape of what is picked along an axis."""
    pairs = enumerate(zip(x.shape, places.shape, strict=True))
    return tuple([m if i == axis or n == 1 else n for i, (n, m) in pairs])


def _own_place(length: int, axis: int, shape: Shape, x: Value) -> Value:
    """Where the other axes read: where they stand, or always the one element they have."""
    if length == shape[axis]:
        return places_along(length, axis, shape, x.device)
    return graph.full(0, INT32, shape, x.device)
