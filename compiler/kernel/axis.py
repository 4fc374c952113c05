"""One loop of a kernel, and what it means to cut or to pad one."""

from dataclasses import dataclass

from compiler.ir import AxisKind, Size

OUTPUT_KINDS = (AxisKind.GLOBAL, AxisKind.LOCAL, AxisKind.UPCAST)
REDUCE_KINDS = (AxisKind.GROUP, AxisKind.REDUCE, AxisKind.UNROLL)
NESTING = {kind: depth for depth, kind in enumerate(AxisKind)}


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop, named for life. The index `origin` grows by `step` with each iteration.

    `origin` is an axis of the AST or a Pad; its index is the sum of step * value over its pieces.
    """

    name: str
    size: Size
    kind: AxisKind
    origin: str
    step: int

    def __str__(self) -> str:
        size = self.size if isinstance(self.size, int) else repr(self.size)
        return f"{self.name}: {self.kind.name} of {size}, {self.step} of {self.origin}"

    @property
    def is_reduce(self) -> bool:
        """Whether this is a piece of an axis that a REDUCE names."""
        return self.kind in REDUCE_KINDS


@dataclass(frozen=True, slots=True)
class Pad:
    """An index that runs past its real `size`; it is itself a piece of `origin` with this `step`.

    Positions from `size` on are padding: they load 0, give a reduce its identity, store nothing.
    """

    name: str
    size: int
    origin: str
    step: int

    def __str__(self) -> str:
        return f"{self.name}: {self.size} real, {self.step} of {self.origin}"
