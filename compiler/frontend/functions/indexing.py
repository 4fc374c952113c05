"""x[...] and x[...] = y with NumPy's rules: slices, integers, new axes, masks and integer arrays.

Integer arrays pick by computed offsets, never by multiplying with a one-hot: elements that are not
picked cannot leak an inf or NaN. A position outside the axis is an IndexError where the host knows
it; that of a tensor reads 0, and writes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from compiler.errors import DTypeError, IndexingError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import (
    add,
    greater_equal,
    logical_and,
    multiply,
    where,
)
from compiler.frontend.functions.gathering import along_axis, rows_at
from compiler.frontend.functions.picking import inside_axis, offset_dtype
from compiler.frontend.functions.segments import last_hits
from compiler.frontend.functions.spacing import dilate
from compiler.frontend.graph import Pairs, Shape, Value
from compiler.frontend.operands import (
    Operand,
    as_filling,
    as_places,
    as_value,
    broadcast_to,
)
from compiler.frontend.realize import to_numpy
from compiler.frontend.shapes import as_axis, as_place, broadcast_indices
from compiler.frontend.storage import Array, from_array
from compiler.frontend.symbolic import is_symbolic, maximum, minimum
from compiler.ir import BOOL, INT32

Index: TypeAlias = Any  # int | slice | None | ... | array of ints or bools, or a tuple of them


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A new axis of size 1, taken once or not at all: what a single bool is as an index."""

    places: Value


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an index does to an array: cut, reverse, step, reshape, then pick by arrays."""

    pairs: Pairs  # start and stop of each axis
    flips: tuple[int, ...]
    steps: tuple[int, ...]
    shape: Shape  # after dropping integer axes and adding new ones
    arrays: tuple[tuple[int, Value], ...]  # (axis of `shape`, positions)
    is_together: bool  # nothing stands between the arrays


def getitem(x: Value, index: Index) -> Value:
    """The elements that `index` selects."""
    plan = _plan(x, index)
    moved = graph.reshape(_move(x, plan), plan.shape)
    return _pick(moved, plan.arrays, is_together=plan.is_together) if plan.arrays else moved


def setitem(x: Value, index: Index, value: Operand) -> Value:
    """`x` with the elements that `index` selects replaced; of equal places the last one wins."""
    new = as_filling(value, x.dtype, x.device)
    mask = _as_array(index, x.device)
    if _is_mask(mask) and mask.shape == x.shape and new.ndim == 0:
        return where(mask, new, x)
    plan = _plan(x, index)
    old = graph.reshape(_move(x, plan), plan.shape)
    new = _put(old, plan, new) if plan.arrays else _fit(new, plan.shape)
    return _place(x, new, plan)


def take(x: Value, indices: Operand, axis: int | None = None) -> Value:
    """Elements at these positions along an axis."""
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    along = as_axis(axis, x.ndim)
    places = as_places(indices, x.shape[along], along, x.device)
    if places.dtype.is_float:
        raise DTypeError(f"take at {places.dtype}: use integers")
    return _pick(x, ((along, places),))


def take_along_axis(x: Value, indices: Operand, axis: int = -1) -> Value:
    """Elements at places of their own along an axis; the other axes broadcast."""
    along = as_axis(axis, x.ndim)
    places = as_places(indices, x.shape[along], along, x.device)
    if not places.dtype.is_int:
        raise IndexingError(f"index of {places.dtype}: use integers")
    if places.ndim != x.ndim:
        raise ShapeError(f"take_along_axis of {x.shape} at {places.shape}: differ in dimensions")
    outside = (1, *x.shape[:along], *x.shape[along + 1 :])
    broadcast_indices(outside, (1, *places.shape[:along], *places.shape[along + 1 :]))
    return along_axis(x, places, along)


def _move(x: Value, plan: _Plan) -> Value:
    return graph.stride(graph.flip(graph.shrink(x, plan.pairs), plan.flips), plan.steps)


def _place(x: Value, new: Value, plan: _Plan) -> Value:
    """The inverse of `_move`: `new` where it came from, `x` elsewhere."""
    moved = tuple([-(-(b - a) // n) for (a, b), n in zip(plan.pairs, plan.steps, strict=True)])
    inside = graph.full(1, BOOL, moved, x.device)
    there = _unmove(inside, x.shape, plan)
    return where(there, _unmove(graph.reshape(new, moved), x.shape, plan), x)


def _unmove(value: Value, shape: Shape, plan: _Plan) -> Value:
    spans = tuple([stop - start for start, stop in plan.pairs])
    for axis, step in enumerate(plan.steps):
        value = dilate(value, axis, step, spans[axis])
    around = zip(plan.pairs, shape, strict=True)
    pairs = tuple([(start, size - stop) for (start, stop), size in around])
    return graph.pad(graph.flip(value, plan.flips), pairs)


def _fit(new: Value, shape: Shape) -> Value:
    """Broadcast for an assignment, which ignores leading axes of size 1."""
    while new.ndim > len(shape) and new.shape[0] == 1:
        new = graph.reshape(new, new.shape[1:])
    return broadcast_to(new, shape)


# --- reading an index -----------------------------------------------------------------------------


def _plan(x: Value, index: Index) -> _Plan:
    given = _with_arrays(x, index)
    items = _as_positions(x, _expand_ellipsis(x, given))
    has_arrays = any(isinstance(item, Value | _Repeated) for item in items)
    pairs: list[tuple[int, int]] = []
    steps: list[int] = []
    shape: list[int] = []
    arrays: list[tuple[int, Value]] = []
    for item in items:
        if item is None or isinstance(item, _Repeated):
            if item is not None:
                arrays.append((len(shape), item.places))
            shape.append(1)
            continue
        axis = len(pairs)
        span = (0, x.shape[axis], 1)
        if isinstance(item, slice):
            span = _slice(item, x.shape[axis])
        elif not isinstance(item, Value):
            span = (*_single(item, x.shape[axis], axis), 1)
            if has_arrays:  # NumPy takes the integer for one more array
                arrays.append((len(shape), graph.full(0, INT32, (), x.device)))
        else:
            arrays.append((len(shape), item))
        if has_arrays or isinstance(item, slice):
            shape.append(-(-(span[1] - span[0]) // abs(span[2])))
        pairs.append(span[:2])
        steps.append(span[2])
    flips = tuple([axis for axis, step in enumerate(steps) if step < 0])
    return _Plan(
        tuple(pairs),
        flips,
        tuple([abs(step) for step in steps]),
        tuple(shape),
        tuple(arrays),
        _is_together(given),
    )


def _is_together(items: Sequence[Index]) -> bool:
    """Whether arrays, and the integers beside them, stand side by side; `...` may be of no axes."""
    apart = [item is None or item is Ellipsis or isinstance(item, slice) for item in items]
    picking = [place for place, is_apart in enumerate(apart) if not is_apart]
    return not picking or picking[-1] - picking[0] + 1 == len(picking)


def _slice(item: slice, size: int) -> tuple[int, int, int]:
    """The span of a slice in rising order, with its step."""
    if any(is_symbolic(number) for number in (size, item.start, item.stop)):
        return _symbolic_slice(item, size)
    try:
        start, stop, step = item.indices(size)
    except TypeError as error:
        raise DTypeError(f"{item}: {error}") from None
    except ValueError as error:  # a step of 0
        raise ShapeError(f"{item} of an axis of size {size}: {error}") from None
    count = len(range(start, stop, step))
    if count == 0:
        return 0, 0, 1
    last = start + (count - 1) * step
    return (start, last + 1, step) if step > 0 else (last, start + 1, step)


def _as_index(item: Index) -> int:
    """An integer, or the size of an axis."""
    return item if is_symbolic(item) else index(item)


def _symbolic_slice(item: slice, size: int) -> tuple[int, int, int]:
    """The same, with ends that depend on a variable."""
    try:
        step = 1 if item.step is None else _as_index(item.step)
        ends = [None if end is None else _as_index(end) for end in (item.start, item.stop)]
    except TypeError as error:
        raise DTypeError(f"{item}: {error}") from None
    if step == 0:
        raise ShapeError(f"{item} of an axis of size {size}: slice step cannot be zero")
    if step > 0:
        start, stop = _clamped(ends[0], size, 0), _clamped(ends[1], size, size)
        return start, start + _reach(stop - start, step), step
    # backwards: from the last place, which is size - 1, to the one before the first
    start, stop = _clamped(ends[0], size, size - 1, -1), _clamped(ends[1], size, -1, -1)
    return start + 1 - _reach(start - stop, -step), start + 1, step


def _reach(distance: int, step: int) -> int:
    """How many places lie from the first that is taken to the last one."""
    count = -(-maximum(distance, 0) // step)
    return count if step == 1 else maximum((count - 1) * step + 1, 0)


def _clamped(place: int | None, size: int, default: int, before: int = 0) -> int:
    """A place counted from the front; `before` is 0, or -1 where a slice runs backwards."""
    if place is None:
        return default
    known = size + place if place < 0 else place
    return minimum(maximum(known, before), size + before)


def _single(item: Index, size: int, axis: int) -> tuple[int, int]:
    try:
        place = _as_index(item)
    except TypeError:
        raise IndexingError(
            f"index {item!r}: use integers, slices, ..., None, or arrays of integers or bools"
        ) from None
    found = as_place(place, size, axis)
    return found, found + 1


def _with_arrays(x: Value, index: Index) -> list[Index]:
    """Items with masks and tensors as values, and other arrays of integers as NumPy's."""
    items: list[Index] = []
    for item in index if isinstance(index, tuple) else (index,):
        array = _as_array(list(item) if isinstance(item, tuple) else item, x.device)
        if _is_mask(array) and array.ndim == 0:
            count = int(to_numpy(array))
            items.append(_Repeated(graph.full(0, INT32, (count,), x.device)))
        else:
            items.append(item if array is None else array)
    consumed = _consumed(items)
    if consumed > x.ndim:
        raise IndexingError(f"{consumed} indices: the array has {x.ndim} dimensions")
    return items


def _as_positions(x: Value, items: Sequence[Index]) -> list[Index]:
    """Arrays as values: of a mask, the positions at which it holds, for each axis that it takes."""
    found: list[Index] = []
    axis = 0
    for item in items:
        count = _axes_of(item)
        if _is_mask(item):
            found.extend(_positions(item, x.shape[axis : axis + count]))
        elif isinstance(item, np.ndarray):
            found.append(as_places(item, x.shape[axis], axis, x.device))
        else:
            found.append(item)
        axis += count
    return found


def _is_mask(item: Index) -> TypeGuard[Value]:
    return isinstance(item, Value) and item.dtype is BOOL


def _consumed(items: Sequence[Index]) -> int:
    return sum(map(_axes_of, items))


def _axes_of(item: Index) -> int:
    """How many axes an item takes."""
    if _is_mask(item):
        return item.ndim
    return int(item is not None and item is not Ellipsis and not isinstance(item, _Repeated))


def _as_array(item: Index, device: str) -> Value | Array | None:
    """A mask or a tensor as a value, integers of the host as they are: they have an axis to fit."""
    if isinstance(item, bool | np.bool_ | list | np.ndarray):
        item = _from_list(item)
    elif not isinstance(item, Value):
        return None
    dtype = dtypes.as_dtype(item.dtype)
    if dtype is not BOOL and not dtype.is_int:
        raise IndexingError(f"index of {dtype}: use integers or bools")
    return as_value(item, device) if dtype is BOOL else item


def _from_list(item: object) -> Array:
    """Integers, where there is nothing: NumPy would make floats of []."""
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise IndexingError(f"index of {type(item).__name__}: is no array, {error}") from None
    is_empty_list = isinstance(item, list) and array.size == 0
    return array.astype(np.int64) if is_empty_list else array


def _positions(mask: Value, shape: Shape) -> list[Value]:
    """Where a mask holds, per axis: how often it does shows only when it is computed."""
    if mask.shape != shape:
        raise IndexingError(f"mask of shape {mask.shape}: the array has {shape} there")
    found = np.nonzero(to_numpy(mask))
    return [from_array(np.asarray(places, np.int64), mask.device) for places in found]


def _expand_ellipsis(x: Value, items: list[Index]) -> list[Index]:
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexingError("index: has more than one ellipsis")
    missing: list[Index] = [slice(None)] * (x.ndim - _consumed(items))
    at = places[0] if places else len(items)
    return items[:at] + missing + items[at + 1 :]


# --- integer arrays -------------------------------------------------------------------------------


def _pick(x: Value, arrays: Sequence[tuple[int, Value]], *, is_together: bool = True) -> Value:
    shape = broadcast_indices(*[array.shape for _, array in arrays])
    picked = rows_at(x, [(axis, broadcast_to(array, shape)) for axis, array in arrays], shape)
    front = arrays[0][0] if is_together else 0
    return graph.permute(picked, _result_order(x.ndim - len(arrays), len(shape), front))


def _result_order(rest: int, count: int, front: int) -> tuple[int, ...]:
    """Axes of the result out of (`count` index axes, the rest): theirs stand at `front`."""
    order = list(range(count, count + rest))
    order[front:front] = range(count)
    return tuple(order)


def _put(x: Value, plan: _Plan, new: Value) -> Value:
    """`x` with rows replaced: each row takes the last place that means it."""
    arrays = plan.arrays
    axes = [axis for axis, _ in arrays]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    shape = broadcast_indices(*[array.shape for _, array in arrays])
    order = _result_order(len(rest), len(shape), axes[0] if plan.is_together else 0)
    whole = (*shape, *[x.shape[axis] for axis in rest])
    fitted = _fit(new, tuple([whole[axis] for axis in order]))
    turned = graph.permute(fitted, tuple([order.index(axis) for axis in range(len(order))]))
    indexed = tuple([x.shape[axis] for axis in axes])
    given = graph.reshape(turned, (prod(shape), *[x.shape[axis] for axis in rest]))
    places = graph.reshape(_flat_places(indexed, arrays, shape), (prod(shape),))
    last = graph.reshape(last_hits(places, prod(indexed)), indexed)
    picked = rows_at(given, [(0, last)], indexed)  # (*indexed, *rest); 0 where nothing is given
    back = tuple([(*axes, *rest).index(axis) for axis in range(x.ndim)])
    hit = graph.reshape(greater_equal(last, 0), (*indexed, *([1] * len(rest))))
    wide = graph.permute(broadcast_to(hit, picked.shape), back)
    return where(wide, graph.permute(picked, back), x)


def _flat_places(sizes: Shape, arrays: Sequence[tuple[int, Value]], shape: Shape) -> Value:
    """Positions in the indexed axes, counted row by row; -1 where one is outside its axis."""
    dtype = offset_dtype(prod(sizes))
    device = arrays[0][1].device
    flat = graph.full(0, dtype, shape, device)
    inside = graph.full(1, BOOL, shape, device)
    for size, (_, array) in zip(sizes, arrays, strict=True):
        clamped, found = inside_axis(array, size)
        flat = add(multiply(flat, size), graph.cast(broadcast_to(clamped, shape), dtype))
        inside = logical_and(inside, broadcast_to(found, shape))
    return where(inside, flat, -1)
