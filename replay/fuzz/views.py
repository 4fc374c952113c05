"""Views drawn at random that never leave their buffer: movement operations on contiguous data."""

from collections.abc import Callable
from math import prod

from hypothesis import strategies as st

from compiler.ir import ViewStack

Draw = Callable[[st.SearchStrategy[int]], int]

# What one axis of a load may be: (name, elements of the buffer's axis for n positions).
_PLAIN, _FLIP, _PAD, _SHRINK, _STRIDE = range(5)
_small = st.integers(0, 3)
_move = st.integers(0, 4)


def load_view(draw: Draw, sizes: tuple[int, ...], moving: tuple[int, ...]) -> tuple[ViewStack, int]:
    """A view over a domain of `sizes` that depends on the axes `moving`, and its buffer's size.

    Each axis is read straight, backwards, padded, cut out of a longer one or in steps of two. The
    axes lie in the buffer in any order, and their flat sequence may itself begin with padding.
    """
    order = _shuffled(draw, moving)
    moves = [_draw_axis(draw, sizes[axis]) for axis in order]
    shape = tuple(length for length, _ in moves)
    stack, size = _flat(draw, shape)
    for place, (_, move) in enumerate(moves):
        stack = move(stack, place)
    return _over_domain(stack, order, sizes), size


def store_view(draw: Draw, sizes: tuple[int, ...], outputs: tuple[int, ...]) -> ViewStack:
    """A view that gives every position of the output axes an element of its own."""
    order = _shuffled(draw, outputs)
    stack = ViewStack.contiguous(tuple(sizes[axis] for axis in order))
    return _over_domain(stack, order, sizes)


def mask_view(draw: Draw, sizes: tuple[int, ...], moving: tuple[int, ...]) -> ViewStack:
    """A view of one element whose mask is a box in the axes `moving`."""
    shape = [1] * len(sizes)
    pairs = [(0, 0)] * len(sizes)
    for axis in moving:
        low = min(draw(_small), sizes[axis] - 1)
        high = min(draw(_small), sizes[axis] - 1 - low)
        shape[axis], pairs[axis] = sizes[axis] - low - high, (low, high)
    stack = ViewStack.contiguous((1,) * len(sizes)).expand(tuple(shape)).pad(tuple(pairs))
    return stack.expand(sizes)


def _shuffled(draw: Draw, axes: tuple[int, ...]) -> tuple[int, ...]:
    left, order = list(axes), []
    while left:
        order.append(left.pop(draw(st.integers(0, len(left) - 1))))
    return tuple(order)


def _flat(draw: Draw, shape: tuple[int, ...]) -> tuple[ViewStack, int]:
    total = prod(shape)
    gap = min(draw(_small), total - 1)
    if gap == 0:
        return ViewStack.contiguous(shape), total
    return ViewStack.contiguous((total - gap,)).pad(((gap, 0),)).reshape(shape), total - gap


_Move = Callable[[ViewStack, int], ViewStack]


def _draw_axis(draw: Draw, size: int) -> tuple[int, _Move]:
    kind = draw(_move)
    if kind == _FLIP:
        return size, lambda stack, place: stack.flip((place,))
    if kind == _STRIDE:
        return 2 * size, lambda stack, place: stack.stride(_at(stack, place, 2, 1))
    low = draw(_small) if kind in (_PAD, _SHRINK) else 0
    high = draw(_small) if kind in (_PAD, _SHRINK) else 0
    if kind == _PAD and low + high < size:
        return size - low - high, lambda stack, place: stack.pad(_at(stack, place, (low, high)))
    if kind == _SHRINK:
        return size + low + high, lambda stack, place: stack.shrink(_cut(stack, place, low, high))
    return size, lambda stack, place: stack


def _at(stack: ViewStack, place: int, value: object, other: object = (0, 0)) -> tuple:  # type: ignore[type-arg]  # of ints or of pairs
    return tuple(value if axis == place else other for axis in range(len(stack.shape)))


def _cut(stack: ViewStack, place: int, low: int, high: int) -> tuple[tuple[int, int], ...]:
    ends = [(0, size) for size in stack.shape if isinstance(size, int)]
    start, stop = ends[place]
    ends[place] = (start + low, stop - high)
    return tuple(ends)


def _over_domain(stack: ViewStack, order: tuple[int, ...], sizes: tuple[int, ...]) -> ViewStack:
    """Put the axes of `stack` at their places in the domain and repeat over all others."""
    places = sorted(order)
    stack = stack.permute(tuple(order.index(axis) for axis in places))
    shape = tuple(size if axis in order else 1 for axis, size in enumerate(sizes))
    return stack.reshape(shape).expand(sizes)
