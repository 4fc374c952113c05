"""Shapes and axes as users give them, checked. Errors are of NumPy's kinds."""

from collections.abc import Sequence
from operator import index
from typing import TypeAlias

import numpy as np

from compiler.errors import AxisError, DTypeError, IndexingError, ShapeError
from compiler.frontend.graph import Number, Shape
from compiler.frontend.symbolic import BoundSize, is_number, merged, plain

Axes: TypeAlias = int | Sequence[int] | None


def as_int(value: object, what: str) -> int:
    """`value` as an int. Raises DTypeError naming `what` for anything that is not an integer."""
    if type(value) is int or isinstance(value, BoundSize):
        return value
    try:
        return index(value)  # type: ignore[arg-type]  # what has no __index__ raises
    except TypeError:
        raise DTypeError(f"{what} is {value!r}: use an integer") from None


def is_pair(value: object) -> bool:
    """Whether this is a tuple of two integers."""
    return isinstance(value, tuple) and len(value) == 2 and all(type(n) is int for n in value)


def as_number(value: object, what: str) -> Number:
    """`value` as a Python number. Raises DTypeError naming `what` for anything else."""
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        value = value.item()
    if not is_number(value):
        raise DTypeError(f"{what} is {value!r:.40}: use a number")
    return value


def as_shape(shape: int | Sequence[int], what: str = "shape") -> Shape:
    """A shape from an int or a sequence of them."""
    sizes = shape if isinstance(shape, Sequence) else (shape,)
    found = tuple([as_int(size, what) for size in sizes])
    if any(size < 0 for size in found):
        raise ShapeError(f"{what} {found}: has a negative size")
    return found


def as_axis(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    found = as_int(axis, "axis")
    if not -ndim <= found < ndim:
        raise AxisError(f"axis {found}: the array has {ndim} dimensions")
    return found % ndim


def as_axes(axes: Axes, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order given; all of them for None."""
    if axes is None:
        return tuple(range(ndim))
    given = axes if isinstance(axes, Sequence) else (axes,)
    found = tuple([as_axis(axis, ndim) for axis in given])
    if len(set(found)) != len(found):
        raise ShapeError(f"axes {tuple(given)}: name an axis of {ndim} dimensions twice")
    return found


def broadcast(*shapes: Shape) -> Shape:
    """The shape in which all meet. Raises ShapeError naming the shapes."""
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    ndim = max([len(shape) for shape in shapes], default=0)
    result = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size == 1 or size == result[axis]:
                continue
            if result[axis] != 1:
                raise ShapeError(_why_apart(shapes, result[axis], size))
            result[axis] = size
    return tuple(result)


def _why_apart(shapes: Sequence[Shape], a: int, b: int) -> str:
    """Two sizes that should be one. Raises ShapeError if they are of one variable's two values."""
    merged([size.bindings for size in (a, b) if isinstance(size, BoundSize)])
    listed = " and ".join(str(shape) for shape in shapes)
    reason = f"shapes {listed}: do not broadcast, sizes {a} and {b}"
    if plain(a) == plain(b):  # one is symbolic, or both are
        reason += " are equal by chance, bind both to one variable"
    return reason


def broadcast_indices(*shapes: Shape) -> Shape:
    """`broadcast` of arrays of indices. Raises IndexingError, as NumPy does."""
    try:
        return broadcast(*shapes)
    except ShapeError as error:
        raise IndexingError(f"arrays of indices, {error}") from None


def as_place(place: int, size: int, axis: int) -> int:
    """A place on an axis, counted from the front. Raises IndexingError if it is not there."""
    if not -size <= place < size:
        raise IndexingError(f"index {place}: outside axis {axis} of size {size}")
    return size + place if place < 0 else place


def per_axis(value: int | Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """One number for each of `count` axes, from one for all or a sequence."""
    if not isinstance(value, Sequence):
        return (as_int(value, what),) * count
    if len(value) != count:
        raise ShapeError(f"{what} {tuple(value)}: has {len(value)} numbers for {count} axes")
    return tuple([as_int(item, what) for item in value])
