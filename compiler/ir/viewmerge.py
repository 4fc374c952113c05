"""Two views as one: what `outer` selects of what `inner` selects, where one view can say it."""

from dataclasses import dataclass
from functools import lru_cache

from compiler.errors import ShapeError
from compiler.ir import sym
from compiler.ir.node import Size
from compiler.ir.view import View, row_major


@lru_cache(maxsize=16384)  # a pure function, and programs repeat their shapes
def merge(outer: View, inner: View) -> View | None:
    """One view equal to `outer` over `inner`, or None if there is none that can be proven equal.

    `outer` addresses positions of `inner` counted row by row.
    """
    if inner.is_contiguous:
        return outer
    if inner.shape == outer.shape and outer.is_contiguous:
        return inner
    if outer.is_void or inner.is_void:
        # without axes there is no mask that could say so: the two views stay apart
        return _void(outer.shape) if outer.shape else None
    try:
        return _merged(outer, inner)
    except ShapeError:  # no formula holds a number on the way, which two views do without
        return None


def _merged(outer: View, inner: View) -> View | None:
    dims = _coalesce(inner)
    walks = _walks(outer)
    digits = _digits_of_walks(outer, walks, dims)
    return None if digits is None else _combine(outer, inner, walks, dims, digits)


def _void(shape: tuple[Size, ...]) -> View:
    return View(shape, (0,) * len(shape), 0, tuple([(0, 0)] * len(shape))).canonical()


@dataclass(frozen=True, slots=True)
class _Dim:
    """One axis of the inner view after joining axes that lie side by side."""

    size: Size
    stride: Size
    low: Size
    high: Size

    @property
    def is_masked(self) -> bool:
        return (self.low, self.high) != (0, self.size)


def _coalesce(view: View) -> list[_Dim]:
    dims: list[_Dim] = []
    for size, stride, (low, high) in zip(view.shape, view.strides, view.bounds, strict=True):
        if size == 1:  # valid at its only index: the view is not void
            continue
        dim = _Dim(size, stride, low, high)
        joined = _join(dims[-1], dim) if dims else None
        if joined is None:
            dims.append(dim)
        else:
            dims[-1] = joined
    return dims


def _join(left: _Dim, right: _Dim) -> _Dim | None:
    if not sym.is_equal(left.stride, sym.mul(right.stride, right.size)):
        return None
    size = sym.mul(left.size, right.size)
    if not right.is_masked:
        low, high = sym.mul(left.low, right.size), sym.mul(left.high, right.size)
        return _Dim(size, right.stride, low, high)
    if sym.is_equal(sym.add(left.low, 1), left.high):  # one row
        start = sym.mul(left.low, right.size)
        return _Dim(size, right.stride, sym.add(start, right.low), sym.add(start, right.high))
    return None


@dataclass(frozen=True, slots=True)
class _Walk:
    """One axis of the outer view as steps 0..`steps` from its valid end of lowest offset."""

    start: Size
    steps: Size
    stride: Size  # never negative
    is_backward: bool


def _walks(outer: View) -> list[_Walk]:
    walks = []
    for stride, (low, high) in zip(outer.strides, outer.bounds, strict=True):
        last = sym.sub(high, 1)
        steps = sym.sub(last, low)
        if sym.interval(stride)[0] >= 0:
            walks.append(_Walk(low, steps, stride, is_backward=False))
        else:
            walks.append(_Walk(last, steps, sym.neg(stride), is_backward=True))
    return walks


@dataclass(frozen=True, slots=True)
class _Digits:
    """Index m of the inner view is start[m] + sum over d of (steps taken on d) * step[d][m]."""

    start: list[Size]
    step: list[list[Size]]


def _digits_of_walks(outer: View, walks: list[_Walk], dims: list[_Dim]) -> _Digits | None:
    weights = row_major(tuple([dim.size for dim in dims]))
    origin = outer.offset
    for walk, stride in zip(walks, outer.strides, strict=True):
        origin = sym.add(origin, sym.mul(walk.start, stride))
    start = _digits(origin, weights)
    steps = [_digits(0 if walk.steps == 0 else walk.stride, weights) for walk in walks]
    known = [digits for digits in steps if digits is not None]
    if start is None or len(known) != len(steps):
        return None
    found = _Digits(start, known)
    for m, dim in enumerate(dims):
        if not sym.is_at_most(_reach(found, m, walks), sym.sub(dim.size, 1)):
            return None  # an index may run over into the next row
    return found


def _digits(value: Size, weights: tuple[Size, ...]) -> list[Size] | None:
    """`value` as a sum of multiples of the weights, largest first; None if it cannot be."""
    if sym.interval(value)[0] < 0:
        return None
    digits: list[Size] = []
    for weight in weights:
        digit = _digit(value, weight) if value != 0 else 0
        digits.append(digit)
        if digit != 0:
            value = sym.sub(value, sym.mul(digit, weight))
    return digits if value == 0 else None


def _digit(value: Size, weight: Size) -> Size:
    if isinstance(value, int) and isinstance(weight, int):
        return value // weight
    exact = sym.exact_div(value, weight)
    return 0 if exact is None else exact


def _reach(digits: _Digits, m: int, walks: list[_Walk]) -> Size:
    top = digits.start[m]
    for walk, step in zip(walks, digits.step, strict=True):
        if step[m] != 0:
            top = sym.add(top, sym.mul(walk.steps, step[m]))
    return top


def _flat(digits: list[Size], dims: list[_Dim]) -> Size:
    """The offset that these indices of the inner view come to."""
    total: Size = 0
    for digit, dim in zip(digits, dims, strict=True):
        if digit != 0:
            total = sym.add(total, sym.mul(digit, dim.stride))
    return total


def _combine(
    outer: View, inner: View, walks: list[_Walk], dims: list[_Dim], digits: _Digits
) -> View | None:
    offset = sym.add(inner.offset, _flat(digits.start, dims))
    strides: list[Size] = []
    for walk, step in zip(walks, digits.step, strict=True):
        stride = _flat(step, dims)
        strides.append(sym.neg(stride) if walk.is_backward else stride)
        if walk.start != 0:
            offset = sym.sub(offset, sym.mul(strides[-1], walk.start))
    mask = list(outer.bounds)
    for m, dim in enumerate(dims):
        if dim.is_masked and not _narrow(mask, m, dim, walks, digits):
            return None
    return View(outer.shape, tuple(strides), offset, tuple(mask)).canonical()


def _narrow(
    mask: list[tuple[Size, Size]], m: int, dim: _Dim, walks: list[_Walk], digits: _Digits
) -> bool:
    """Narrow the outer mask to where index m is inside the inner mask; False if not a box."""
    start, reach = digits.start[m], _reach(digits, m, walks)
    if sym.is_at_most(dim.low, start) and sym.is_less(reach, dim.high):
        return True
    moving = [d for d, walk in enumerate(walks) if walk.steps != 0 and digits.step[d][m] != 0]
    if sym.is_less(reach, dim.low) or sym.is_at_most(dim.high, start):
        mask[:] = [(0, 0)] * len(mask)
        return bool(mask)  # without axes there is no mask that could say so
    if not moving:
        return False
    steps = _valid_steps(moving, m, dim, walks, digits)
    if steps is None:
        return False
    axis, first, last = steps
    walk = walks[axis]
    if walk.is_backward:
        low, high = sym.sub(walk.start, last), sym.sub(walk.start, first)
    else:
        low, high = sym.add(walk.start, first), sym.add(walk.start, last)
    mask[axis] = (
        sym.maximum(mask[axis][0], low),
        sym.minimum(mask[axis][1], sym.add(high, 1)),
    )
    return True


def _valid_steps(
    moving: list[int], m: int, dim: _Dim, walks: list[_Walk], digits: _Digits
) -> tuple[int, Size, Size] | None:
    """(axis, first, last): index m is inside the mask exactly for these steps on this one axis."""
    start = digits.start[m]
    if len(moving) == 1 and digits.step[moving[0]][m] == 1:
        first, last = sym.sub(dim.low, start), sym.sub(sym.sub(dim.high, 1), start)
        return moving[0], first, last
    numbers = [start, dim.low, dim.high]
    for axis in moving:
        numbers += [digits.step[axis][m], walks[axis].steps]
    ints = [number for number in numbers if isinstance(number, int)]
    if len(ints) != len(numbers):
        return None
    low, high = ints[1] - ints[0], ints[2] - 1 - ints[0]
    pairs = list(zip(ints[3::2], ints[4::2], strict=True))
    main = max(range(len(pairs)), key=lambda d: pairs[d][0])
    step, steps = pairs[main]
    rest = sum(a * n for d, (a, n) in enumerate(pairs) if d != main)
    first, first_any = max(0, -(-low // step)), max(0, -(-(low - rest) // step))
    last, last_any = min(steps, (high - rest) // step), min(steps, high // step)
    if (first, last) != (first_any, last_any):
        return None  # whether a step is valid depends on the other axes too
    return moving[main], first, last
