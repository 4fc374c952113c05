"""Functions that move elements and compute nothing. Names and rules are NumPy's."""

from collections.abc import Sequence
from itertools import pairwise
from math import copysign, prod
from typing import TypeAlias

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import where
from compiler.frontend.graph import Number, Pairs, Value
from compiler.frontend.operands import (
    Operand,
    align,
    as_value,
    broadcast_to,
    device_of,
    require_values,
)
from compiler.frontend.shapes import (
    Axes,
    as_axes,
    as_axis,
    as_int,
    as_number,
    as_shape,
    broadcast,
)
from compiler.frontend.symbolic import fixed, is_one, is_symbolic, maximum, smallest
from compiler.ir import BOOL, Op


def reshape(x: Value, *shape: int | Sequence[int]) -> Value:
    """The same elements in the same order; one size may be -1."""
    sizes = [as_int(size, "shape") for size in _flat(shape)]
    unknown = [axis for axis, size in enumerate(sizes) if size == -1]
    known = prod(size for size in sizes if size != -1)
    if len(unknown) == 1 and known > 0 and x.size % known == 0:
        sizes[unknown[0]] = x.size // known
    if any(size < 0 for size in sizes) or prod(sizes) != x.size:
        raise ShapeError(f"shape {x.shape}: {x.size} elements cannot be reshaped to {tuple(sizes)}")
    return graph.reshape(x, tuple(sizes))


def _flat(given: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """f(2, 3) and f((2, 3)) mean the same."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        return tuple(given[0])
    return tuple([as_int(item, "argument") for item in given])


def flatten(x: Value, start_axis: int = 0, end_axis: int = -1) -> Value:
    """Axes from start to end as one."""
    if x.ndim == 0:
        return graph.reshape(x, (1,))
    start, end = as_axis(start_axis, x.ndim), as_axis(end_axis, x.ndim)
    if start > end:
        raise ShapeError(f"axes {start_axis} to {end_axis}: end before they start")
    middle = prod(x.shape[start : end + 1])
    return graph.reshape(x, (*x.shape[:start], middle, *x.shape[end + 1 :]))


def permute_dims(x: Value, *axes: int | Sequence[int]) -> Value:
    """New axis i is old axis axes[i]; without axes, all of them reversed."""
    order = as_axes(_flat(axes), x.ndim) if axes else tuple(reversed(range(x.ndim)))
    if len(order) != x.ndim:
        raise ShapeError(f"axes {order}: do not name each of {x.ndim} dimensions")
    return graph.permute(x, order)


def matrix_transpose(x: Value) -> Value:
    """The last two axes swapped."""
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape}: a matrix has at least two dimensions")
    return swapaxes(x, -1, -2)


def swapaxes(x: Value, axis1: int, axis2: int) -> Value:
    """Two axes exchanged."""
    order = list(range(x.ndim))
    a, b = as_axis(axis1, x.ndim), as_axis(axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return graph.permute(x, tuple(order))


def moveaxis(x: Value, source: Axes, destination: Axes) -> Value:
    """Axes moved to new places; the others keep their order."""
    moved, places = as_axes(source, x.ndim), as_axes(destination, x.ndim)
    if len(moved) != len(places):
        raise ShapeError(f"moveaxis from {moved} to {places}: differ in number")
    rest = [axis for axis in range(x.ndim) if axis not in moved]
    order = dict(zip(places, moved, strict=True))
    remaining = iter(rest)
    return graph.permute(
        x, tuple([order[i] if i in order else next(remaining) for i in range(x.ndim)])
    )


def expand_dims(x: Value, axis: Axes = 0) -> Value:
    """New axes of size 1, at these places of the result."""
    if axis is None:
        raise DTypeError("expand_dims at None: use integers")
    count = len(axis) if isinstance(axis, Sequence) else 1
    places = as_axes(axis, x.ndim + count)
    sizes = iter(x.shape)
    ndim = x.ndim + count
    return graph.reshape(x, tuple([1 if i in places else next(sizes) for i in range(ndim)]))


def squeeze(x: Value, axis: Axes = None) -> Value:
    """Without these axes, or without all of size 1."""
    if axis is None:
        axis = [i for i, size in enumerate(x.shape) if is_one(size)]
    axes = as_axes(axis, x.ndim)
    wide = [i for i in axes if not is_one(x.shape[i])]
    if wide:
        raise ShapeError(f"squeeze of axis {wide[0]}: has size {x.shape[wide[0]]}, expected 1")
    for i in axes:
        x = _along(x, i, (0, 1))  # of a symbolic size that is 1
    return graph.reshape(x, tuple([size for i, size in enumerate(x.shape) if i not in axes]))


def expand(x: Value, *shape: int | Sequence[int]) -> Value:
    """Repeated along missing axes and those of size 1; -1 keeps a size."""
    sizes = [as_int(size, "shape") for size in _flat(shape)]
    kept = (1,) * (len(sizes) - x.ndim) + x.shape
    if len(kept) == len(sizes):
        sizes = [old if size == -1 else size for size, old in zip(sizes, kept, strict=True)]
    return broadcast_to(x, as_shape(sizes))


def broadcast_arrays(*arrays: Value) -> tuple[Value, ...]:
    """All in the shape in which they meet."""
    require_values("broadcast_arrays", *arrays)
    shape = broadcast(*[array.shape for array in arrays])
    return tuple([broadcast_to(array, shape) for array in arrays])


def flip(x: Value, axis: Axes = None) -> Value:
    """Reversed along these axes, or all."""
    return graph.flip(x, tuple(sorted(as_axes(axis, x.ndim))))


def roll(x: Value, shift: int | Sequence[int], axis: Axes = None) -> Value:
    """Elements moved along axes, those that leave at the end come back at the start."""
    if axis is None:
        return graph.reshape(roll(graph.reshape(x, (x.size,)), shift, 0), x.shape)
    axes = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll by {shifts} along {axes}: differ in number")
    for one, given in zip(shifts, axes, strict=True):
        along = as_axis(given, x.ndim)  # one may come again: it is moved again
        x = _rolled(x, along, as_int(one, "shift"))
    return x


def _rolled(x: Value, axis: int, shift: int) -> Value:
    size = x.shape[axis]
    if shift == 0 or size == 0:
        return x
    if is_symbolic(size):  # a part of x twice: whatever the size is, no piece is left out
        turn = abs(shift) % (size if smallest(size) > 0 else maximum(size, 1))
        start = turn if shift < 0 else size - turn
        return _along(concat([x, x], axis), axis, (start, start + size))
    start = -shift % size
    if start == 0:
        return x
    return concat([_along(x, axis, part) for part in ((start, size), (0, start))], axis)


def _along(x: Value, axis: int, bounds: tuple[int, int]) -> Value:
    pairs = [(0, size) for size in x.shape]
    pairs[axis] = bounds
    return graph.shrink(x, tuple(pairs))


def spread_out(x: Value, axis: int, step: int, size: int) -> Value:
    """`step - 1` zeros after each element of an axis, `size` elements in all."""
    if step > 1:
        before, count, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
        pairs = [(0, 0)] * (x.ndim + 1)
        pairs[axis + 1] = (0, step - 1)
        wide = graph.pad(graph.reshape(x, (*before, count, 1, *after)), tuple(pairs))
        x = graph.reshape(wide, (*before, count * step, *after))
    missing = size - x.shape[axis]
    if missing <= 0:
        return _along(x, axis, (0, size))
    pairs = [(0, 0)] * x.ndim
    pairs[axis] = (0, missing)
    return graph.pad(x, tuple(pairs))


def repeat(x: Value, repeats: int, axis: int | None = None) -> Value:
    """Each element `repeats` times in a row."""
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    place, count = as_axis(axis, x.ndim), as_int(repeats, "repeats")
    if count < 0:
        raise ShapeError(f"repeats {count}: is negative")
    wide = graph.reshape(x, (*x.shape[: place + 1], 1, *x.shape[place + 1 :]))
    shape = (*x.shape[: place + 1], count, *x.shape[place + 1 :])
    merged = (*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :])
    return graph.reshape(graph.expand(wide, shape), merged)


def tile(x: Value, repetitions: int | Sequence[int]) -> Value:
    """The whole array repeated along each axis."""
    counts = as_shape(repetitions, "repetitions")
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    sizes = (1,) * (ndim - x.ndim) + x.shape
    wide = graph.reshape(x, tuple([n for size in sizes for n in (1, size)]))
    pairs = zip(counts, sizes, strict=True)
    shown = graph.expand(wide, tuple([n for pair in pairs for n in pair]))
    return graph.reshape(shown, tuple([a * b for a, b in zip(counts, sizes, strict=True)]))


def concat(arrays: Sequence[Operand], axis: int | None = 0) -> Value:
    """The arrays one after the other along an axis; flattened first if it is None."""
    if not isinstance(arrays, Sequence):
        raise DTypeError(f"concat of {type(arrays).__name__}: use a sequence of arrays")
    if not arrays:
        raise ShapeError("concat of no arrays: give at least one")
    device = device_of(arrays)
    values = [as_value(array, device) for array in arrays]
    if axis is None:
        values, axis = [graph.reshape(value, (value.size,)) for value in values], 0
    place = as_axis(axis, values[0].ndim)
    _check_concat(values, place)
    values = _promoted([v for v in values if v.shape[place] != 0] or values[:1], values)
    ends = [0]
    for value in values:
        ends.append(ends[-1] + value.shape[place])
    result: Value | None = None
    for value, (start, stop) in reversed(list(zip(values, pairwise(ends), strict=True))):
        pairs = [(0, 0)] * value.ndim
        pairs[place] = (start, ends[-1] - stop)
        piece = graph.pad(value, tuple(pairs))
        if result is None:
            result = piece
        else:  # not a sum: -0.0 + 0.0 is 0.0
            inside = graph.pad(graph.full(1, BOOL, value.shape, device), tuple(pairs))
            result = graph.elementwise(Op.WHERE, inside, piece, result)
    assert result is not None
    return result


def _check_concat(values: Sequence[Value], place: int) -> None:
    first = values[0].shape
    for value in values[1:]:
        others = value.shape[:place] + value.shape[place + 1 :]
        if value.ndim != len(first) or others != first[:place] + first[place + 1 :]:
            raise ShapeError(f"concat of {first} and {value.shape}: differ outside axis {place}")


def _promoted(kept: Sequence[Value], all_values: Sequence[Value]) -> list[Value]:
    """The kept ones in the dtype of all, empty ones included."""
    scalars = [graph.full(0, value.dtype, (), value.device) for value in all_values]
    dtype = align(*scalars)[0].dtype
    return [graph.cast(value, dtype) for value in kept]


def contiguous(x: Value) -> Value:
    """The same elements, computed by a kernel of their own unless they lie in memory row by row."""
    return graph.contiguous(x, is_asked=True)


def stack(arrays: Sequence[Operand], axis: int = 0) -> Value:
    """Equally shaped arrays side by side along a new axis."""
    if not isinstance(arrays, Sequence):
        raise DTypeError(f"stack of {type(arrays).__name__}: use a sequence of arrays")
    if not arrays:
        raise ShapeError("stack of no arrays: give at least one")
    device = device_of(arrays)
    values = [as_value(array, device) for array in arrays]
    if any(value.shape != values[0].shape for value in values):
        shapes = " and ".join(str(value.shape) for value in values)
        raise ShapeError(f"stack of {shapes}: shapes differ")
    return concat([expand_dims(value, axis) for value in values], axis)


_MOST_EMPTY_PARTS = 2**16  # of an axis without elements, which has any number of equal parts


def split(x: Value, sections: int | Sequence[int], axis: int = 0) -> tuple[Value, ...]:
    """Equal parts, or parts between the given indices."""
    place = as_axis(axis, x.ndim)
    size = x.shape[place]
    if isinstance(sections, Sequence):
        ends = [0, *[_clamped(as_int(end, "section"), size) for end in sections], size]
    else:
        count = as_int(sections, "sections")
        if count < 1 or size % count or count > max(size, _MOST_EMPTY_PARTS):
            raise ShapeError(f"split of {x.shape}: axis {place} has no {count} equal parts")
        ends = [size // count * part for part in range(count + 1)]
    return tuple([_along(x, place, (a, max(a, b))) for a, b in pairwise(ends)])


def _clamped(place: int, size: int) -> int:
    """A place on an axis; as in slices, negative ones count from the end."""
    return min(place, size) if place >= 0 else max(place + size, 0)


def unstack(x: Value, axis: int = 0) -> tuple[Value, ...]:
    """The parts along an axis, without it."""
    place = as_axis(axis, x.ndim)
    parts = [_along(x, place, (i, i + 1)) for i in range(fixed(x.shape[place]))]
    return tuple([squeeze(part, place) for part in parts])


PadWidth: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]


def pad(x: Value, pad_width: PadWidth, constant_values: Number = 0) -> Value:
    """`pad_width[i]` = (before, after) elements of `constant_values` around axis i."""
    pairs = _pairs(pad_width, x.ndim)
    padded = graph.pad(x, pairs)
    filler = dtypes.held(as_number(constant_values, "constant_values"), x.dtype)
    is_zero = filler == 0 and copysign(1.0, filler) > 0
    if is_zero or padded is x:
        return padded
    inside = graph.pad(graph.full(1, BOOL, x.shape, x.device), pairs)
    return where(inside, padded, graph.full(filler, x.dtype, padded.shape, x.device))


def _pairs(width: PadWidth, ndim: int) -> Pairs:
    """One width for all ends, one pair for all axes, or a pair for each."""
    if not isinstance(width, Sequence):
        width = (width, width)
    listed = [item for item in width if isinstance(item, Sequence)]
    given = (
        listed if len(listed) == len(width) else [tuple([as_int(n, "pad width") for n in width])]
    )
    if len(given) == 1:
        given = given * ndim
    pairs = [tuple([as_int(n, "pad width") for n in pair]) for pair in given]
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"pad width {width}: needs (before, after) for each of {ndim} dimensions")
    if any(n < 0 for pair in pairs for n in pair):
        raise ShapeError(f"pad width {width}: is negative")
    return tuple([(pair[0], pair[1]) for pair in pairs])
