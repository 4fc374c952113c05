"""One affine view: a shape laid over a flat space by strides, an offset and a mask."""

from dataclasses import dataclass
from typing import TypeAlias

from compiler.ir.node import Node, Size

Mask: TypeAlias = tuple[tuple[Size, Size], ...]


@dataclass(frozen=True, slots=True)
class View:
    """Position p maps to offset + sum(p[i] * strides[i]); valid where mask[i][0] <= p[i] < mask[i][1] for all i."""

    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    mask: Mask | None = None

    def nodes(self) -> tuple[Node, ...]:
        """The symbolic sizes, in the order the text prints them."""
        mask = [bound for pair in self.mask or () for bound in pair]
        sizes = (*self.shape, *self.strides, self.offset, *mask)
        return tuple(size for size in sizes if isinstance(size, Node))
