"""A stack of views: what movement operations on a buffer come to."""

from dataclasses import dataclass

from compiler.ir.node import Node, Size
from compiler.ir.view import View


@dataclass(frozen=True, slots=True)
class ViewStack:
    """`views[0]` addresses the buffer; `views[-1]` has the shape that is seen."""

    views: tuple[View, ...]

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.views[-1].shape

    def nodes(self) -> tuple[Node, ...]:
        """The symbolic sizes, in the order the text prints them."""
        return tuple(node for view in self.views for node in view.nodes())
