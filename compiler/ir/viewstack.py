"""A stack of views: what movement operations on a buffer come to."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from compiler.ir import sym
from compiler.ir.node import Node, Size
from compiler.ir.view import Pairs, View, row_major, windows
from compiler.ir.viewmerge import merge


class ViewStack(Struct, frozen=True, gc=False):
    """`views[0]` addresses the buffer; `views[-1]` has the shape that is seen.

    A stack made by these methods has no two neighbours that `merge` could join.
    """

    views: tuple[View, ...]

    @classmethod
    def contiguous(cls, shape: tuple[Size, ...]) -> "ViewStack":
        """All of a buffer, row by row."""
        return cls((View.contiguous(shape),))

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.views[-1].shape

    @property
    def is_contiguous(self) -> bool:
        """Whether position and buffer offset count alike."""
        return len(self.views) == 1 and self.views[0].is_contiguous

    @property
    def is_void(self) -> bool:
        """Whether it is certain that no position is valid."""
        return any(view.is_void for view in self.views)

    @property
    def has_mask(self) -> bool:
        return any(view.mask is not None for view in self.views)

    def nodes(self) -> tuple[Node, ...]:
        """The symbolic sizes, in the order the text prints them."""
        return tuple(node for view in self.views for node in view.nodes())

    def compose(self, outer: "View | ViewStack") -> "ViewStack":
        """What `outer` sees of what this stack sees; `outer` counts its positions row by row."""
        stack = list(self.views)
        for view in outer.views if isinstance(outer, ViewStack) else (outer,):
            stack.append(view)
            while len(stack) > 1 and (joined := merge(stack[-1], stack[-2])) is not None:
                stack[-2:] = [joined]
        return ViewStack(tuple(stack))

    def _top(self, view: View) -> "ViewStack":
        return (
            ViewStack(self.views[:-1]).compose(view) if len(self.views) > 1 else ViewStack((view,))
        )

    def permute(self, axes: tuple[int, ...]) -> "ViewStack":
        """New axis i is old axis axes[i]."""
        return self._top(self.views[-1].permute(axes))

    def reshape(self, shape: tuple[Size, ...]) -> "ViewStack":
        """The same positions in the same order under another shape."""
        return self if shape == self.shape else self.compose(View.contiguous(shape))

    def expand(self, shape: tuple[Size, ...]) -> "ViewStack":
        """Repeat axes of size 1 up to `shape`."""
        return self._top(self.views[-1].expand(shape))

    def pad(self, pairs: Pairs) -> "ViewStack":
        """Positions before and after each axis, which read as 0."""
        return self._top(self.views[-1].pad(pairs))

    def shrink(self, pairs: Pairs) -> "ViewStack":
        """Positions start to stop of each axis."""
        return self._top(self.views[-1].shrink(pairs))

    def flip(self, axes: tuple[int, ...]) -> "ViewStack":
        """Reverse the named axes."""
        return self._top(self.views[-1].flip(axes))

    def stride(self, steps: tuple[Size, ...]) -> "ViewStack":
        """Every steps[i]-th position of axis i, from the first."""
        return self._top(self.views[-1].stride(steps))

    def windows(self, axis: int, length: Size, step: Size = 1, dilation: Size = 1) -> "ViewStack":
        """`axis` becomes (window, place in window): see `view.windows`."""
        return self.compose(windows(self.shape, axis, length, step, dilation))


def extend(stack: ViewStack, sizes: tuple[Size, ...]) -> ViewStack:
    """Carry axes through every view: what gave k gives k * prod(sizes) + their flat index."""
    inner, total = row_major(sizes), sym.product(sizes)
    views: list[View] = []
    for view in stack.views:
        mask = None if view.mask is None else view.mask + tuple([(0, size) for size in sizes])
        strides = tuple([sym.mul(stride, total) for stride in view.strides])
        offset = sym.mul(view.offset, total)
        views.append(View(view.shape + sizes, strides + inner, offset, mask).canonical())
    return ViewStack(tuple(views))


def spread(stack: ViewStack, shape: tuple[Size, ...], places: Mapping[int, int]) -> ViewStack:
    """The stack over a larger domain: axis i becomes axis places[i], the others do not matter."""
    top = stack.views[-1]
    strides: list[Size] = [0] * len(shape)
    mask: list[tuple[Size, Size]] = [(0, size) for size in shape]
    for axis, place in places.items():
        strides[place], mask[place] = top.strides[axis], top.bounds[axis]
    view = replace(top, shape=shape, strides=tuple(strides), mask=tuple(mask)).canonical()
    return ViewStack((*stack.views[:-1], view))


def without(stack: ViewStack, rank: int) -> ViewStack:
    """The stack over its first `rank` axes; it does not depend on the others."""
    top = stack.views[-1]
    rest = zip(top.strides[rank:], top.bounds[rank:], top.shape[rank:], strict=True)
    assert all(step == 0 and valid == (0, size) for step, valid, size in rest), f"{top} moves"
    mask = None if top.mask is None else top.mask[:rank]
    view = View(top.shape[:rank], top.strides[:rank], top.offset, mask).canonical()
    return ViewStack((*stack.views[:-1], view))
