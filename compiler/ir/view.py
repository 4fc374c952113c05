"""One affine view: a shape laid over a flat space by strides, an offset and a mask."""

from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from compiler.ir import sym
from compiler.ir.node import Node, Size

Mask: TypeAlias = tuple[tuple[Size, Size], ...]
Pairs: TypeAlias = tuple[tuple[Size, Size], ...]


class View(Struct, frozen=True, gc=False):  # nodes hold it, and the collector knows no nodes
    """Position p maps to offset + sum(p[i] * strides[i]).

    It is valid where mask[i][0] <= p[i] < mask[i][1] for all i. The methods expect arguments that
    fit (the frontend checks its users') and return canonical views.
    """

    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    mask: Mask | None = None

    @classmethod
    def contiguous(cls, shape: tuple[Size, ...]) -> "View":
        """The row-major view of a whole flat space."""
        return _contiguous(shape)

    @property
    def size(self) -> Size:
        """The number of positions."""
        return sym.product(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether position and flat offset count alike."""
        return self == View.contiguous(self.shape)

    @property
    def is_void(self) -> bool:
        """Whether no position is valid: the mask is empty or the shape is."""
        return 0 in self.shape or (self.mask is not None and (0, 0) in self.mask)

    @property
    def bounds(self) -> Mask:
        """The mask, or the whole shape where there is none."""
        return self.mask if self.mask is not None else tuple([(0, size) for size in self.shape])

    def nodes(self) -> tuple[Node, ...]:
        """The symbolic sizes, in the order the text prints them."""
        mask = [bound for pair in self.mask or () for bound in pair]
        sizes = (*self.shape, *self.strides, self.offset, *mask)
        return tuple(size for size in sizes if isinstance(size, Node))

    def canonical(self) -> "View":
        """One spelling: no full mask, stride 0 on a fixed index, all zeros if nothing is valid."""
        zeros = (0,) * len(self.shape)
        if 0 in self.shape:
            return View(self.shape, zeros)
        if self.mask is None:
            strides = tuple(
                [0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)]
            )
            return self if strides == self.strides else replace(self, strides=strides)
        mask = tuple([_clip(pair, n) for pair, n in zip(self.mask, self.shape, strict=True)])
        if any(sym.is_at_most(high, low) for low, high in mask):
            return View(self.shape, zeros, 0, tuple([(0, 0)] * len(mask)))
        offset, steps = self.offset, list(self.strides)
        for axis, (low, high) in enumerate(mask):
            if sym.is_equal(sym.add(low, 1), high):
                offset, steps[axis] = sym.add(offset, sym.mul(low, steps[axis])), 0
        is_full = all(pair == (0, n) for pair, n in zip(mask, self.shape, strict=True))
        return View(self.shape, tuple(steps), offset, None if is_full else mask)

    def permute(self, axes: tuple[int, ...]) -> "View":
        """New axis i is old axis axes[i]."""
        shape = tuple([self.shape[axis] for axis in axes])
        strides = tuple([self.strides[axis] for axis in axes])
        mask = None if self.mask is None else tuple([self.mask[axis] for axis in axes])
        return View(shape, strides, self.offset, mask)

    def expand(self, shape: tuple[Size, ...]) -> "View":
        """Repeat axes of size 1 up to `shape`."""
        grown = [n == 1 != m for n, m in zip(self.shape, shape, strict=True)]
        strides = tuple([0 if grew else s for s, grew in zip(self.strides, grown, strict=True)])
        if self.mask is None:
            return View(shape, strides, self.offset).canonical()
        mask = tuple(
            [
                (0, n) if grew and pair != (0, 0) else pair
                for pair, n, grew in zip(self.mask, shape, grown, strict=True)
            ]
        )
        return View(shape, strides, self.offset, mask).canonical()

    def pad(self, pairs: Pairs) -> "View":
        """`pairs[i]` positions before and after axis i; they are not valid."""
        shape = tuple(
            [
                sym.add(sym.add(before, n), after)
                for n, (before, after) in zip(self.shape, pairs, strict=True)
            ]
        )
        if self.is_void:
            return View(shape, (0,) * len(shape), 0, tuple([(0, 0)] * len(shape))).canonical()
        mask = tuple(
            [
                (sym.add(low, before), sym.add(high, before))
                for (low, high), (before, _) in zip(self.bounds, pairs, strict=True)
            ]
        )
        return self._moved(shape, [sym.neg(before) for before, _ in pairs], mask)

    def shrink(self, pairs: Pairs) -> "View":
        """Positions start to stop of each axis."""
        shape = tuple([sym.sub(stop, start) for start, stop in pairs])
        mask = None
        if self.mask is not None:
            mask = tuple(
                [
                    (sym.sub(low, start), sym.sub(high, start))
                    for (low, high), (start, _) in zip(self.mask, pairs, strict=True)
                ]
            )
        return self._moved(shape, [start for start, _ in pairs], mask)

    def _moved(self, shape: tuple[Size, ...], starts: list[Size], mask: Mask | None) -> "View":
        offset = self.offset
        for start, stride in zip(starts, self.strides, strict=True):
            offset = sym.add(offset, sym.mul(start, stride))
        return View(shape, self.strides, offset, mask).canonical()

    def flip(self, axes: tuple[int, ...]) -> "View":
        """Reverse the named axes."""
        offset, strides, mask = self.offset, list(self.strides), list(self.bounds)
        for axis in axes:
            size = self.shape[axis]
            offset = sym.add(offset, sym.mul(sym.sub(size, 1), strides[axis]))
            strides[axis] = sym.neg(strides[axis])
            low, high = mask[axis]
            mask[axis] = (sym.sub(size, high), sym.sub(size, low))
        if self.is_void:
            return self
        return View(self.shape, tuple(strides), offset, tuple(mask) if self.mask else None)

    def stride(self, steps: tuple[Size, ...]) -> "View":
        """Every steps[i]-th position of axis i, from the first."""
        pairs = zip(self.shape, steps, strict=True)
        shape = tuple([_ceildiv(n, step) for n, step in pairs])
        strides = tuple([sym.mul(s, step) for s, step in zip(self.strides, steps, strict=True)])
        mask = None
        if self.mask is not None:
            mask = tuple(
                [
                    (_ceildiv(low, step), _ceildiv(high, step))
                    for (low, high), step in zip(self.mask, steps, strict=True)
                ]
            )
        return View(shape, strides, self.offset, mask).canonical()


@lru_cache(maxsize=4096)
def _contiguous(shape: tuple[Size, ...]) -> View:
    return View(shape, row_major(shape)).canonical()


def row_major(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """Strides of the contiguous layout."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = sym.mul(step, size)
    return tuple(reversed(strides))


def windows(shape: tuple[Size, ...], axis: int, length: Size, step: Size, dilation: Size) -> View:
    """Over a contiguous `shape`: `axis` becomes (window, place in window).

    Windows start every `step`, their places are `dilation` apart; only whole windows count.
    """
    reach = sym.add(sym.mul(sym.sub(length, 1), dilation), 1)
    count = sym.add(sym.floordiv(sym.sub(shape[axis], reach), step), 1)
    strides = row_major(shape)
    pair = (sym.mul(strides[axis], step), sym.mul(strides[axis], dilation))
    return View(
        (*shape[:axis], count, length, *shape[axis + 1 :]),
        (*strides[:axis], *pair, *strides[axis + 1 :]),
    ).canonical()


def _clip(pair: tuple[Size, Size], size: Size) -> tuple[Size, Size]:
    low, high = pair
    return sym.maximum(low, 0), sym.minimum(high, size)


def _ceildiv(size: Size, step: Size) -> Size:
    return size if step == 1 else sym.floordiv(sym.add(size, sym.sub(step, 1)), step)
