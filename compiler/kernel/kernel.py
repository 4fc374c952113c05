"""The immutable Kernel: an AST and the loops that compute it. Opts turn one into another."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from compiler.ir import ARRAYS, AxisKind, Core, Node, Op, Size, bounds, toposort
from compiler.kernel.axis import NESTING, Axis, Pad
from compiler.target import Target

_REDUCE, _VAR = Op.REDUCE, Op.VAR


class Opt(Protocol):
    """One transformation of the schedule: a frozen dataclass that names the axes it touches."""

    def why_illegal(self, kernel: "Kernel", target: Target) -> str | None:
        """Why this may not be applied to `kernel` on `target`; None when it may."""
        ...

    def apply(self, kernel: "Kernel") -> "Kernel":
        """`kernel` with this opt applied; the opt is legal."""
        ...


@dataclass(frozen=True, slots=True)
class Tile:
    """The axes of a kernel that are the rows, columns and terms of a tensor core's products."""

    core: Core
    use: int  # see cores.Use
    matching: int
    items: tuple[str, ...]  # by digit of the work item, lowest first: innermost first
    elements: tuple[str, ...]  # by digit of the element of the result
    terms: str | None  # None where a product has one term

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.items, *self.elements, *([] if self.terms is None else [self.terms]))


@dataclass(frozen=True, slots=True)
class Kernel:
    """What to compute (`ast`) and by which loops (`axes`, in nesting order of their kinds)."""

    ast: Node
    axes: tuple[Axis, ...]
    pads: tuple[Pad, ...] = ()
    uses_locals: bool = True  # False once NOLOCALS has been applied
    staged: tuple[int, ...] = ()  # slots of the buffers that are read through local memory
    kept: tuple[str, ...] = ()  # axes of the AST whose terms stay in local memory
    applied: tuple[Opt, ...] = ()
    tile: Tile | None = None  # of the tensor core that TC has chosen

    @property
    def domain(self) -> tuple[tuple[str, Size], ...]:
        """The names and sizes of the axes of the AST, output axes first."""
        return self.ast.attr[0]  # type: ignore[no-any-return]  # attr is typed by FIELDS

    @property
    def output_axes(self) -> tuple[Axis, ...]:
        return tuple([axis for axis in self.axes if not axis.is_reduce])

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        return tuple([axis for axis in self.axes if axis.is_reduce])

    def after(self, opt: Opt, axes: tuple[Axis, ...]) -> "Kernel":
        """The kernel once `opt` has made these its axes; `replace` would take ten times as long."""
        locals_, staged, kept = self.uses_locals, self.staged, self.kept
        applied = (*self.applied, opt)
        return Kernel(self.ast, axes, self.pads, locals_, staged, kept, applied, self.tile)

    def of_kind(self, *kinds: AxisKind) -> tuple[Axis, ...]:
        """The axes of these kinds, in nesting order."""
        return tuple([axis for axis in self.axes if axis.kind in kinds])

    def find(self, name: str) -> Axis | None:
        """The axis of that name."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def pieces(self, origin: str) -> tuple[Axis | Pad, ...]:
        """The axes and pads whose values add up to the index `origin`."""
        parts: tuple[Axis | Pad, ...] = (*self.axes, *self.pads)
        return tuple([part for part in parts if part.origin == origin])


def in_nesting_order(axes: tuple[Axis, ...], last: tuple[str, ...] = ()) -> tuple[Axis, ...]:
    """`axes` sorted by kind from the outside in; axes of one kind keep their order.

    Those named by `last` are the innermost of their kind: the work items of a tensor core.
    """
    return tuple(sorted(axes, key=lambda axis: (NESTING[axis.kind], axis.name in last)))


def iterations(axes: tuple[Axis, ...]) -> int:
    """The product of the sizes of axes that are not symbolic."""
    return prod([axis.size for axis in axes if isinstance(axis.size, int)])


def reduces(kernel: Kernel) -> tuple[Node, ...]:
    """Every REDUCE of the AST, sources before users."""
    return tuple([node for node in toposort(kernel.ast) if node.op is _REDUCE])


def buffers(kernel: Kernel) -> tuple[Node, ...]:
    """Every BUFFER and IMAGE of the AST by slot: outputs first."""
    found = [node for node in toposort(kernel.ast) if node.op in ARRAYS]
    return tuple(sorted(found, key=lambda node: node.attr[0]))


def variables(kernel: Kernel) -> tuple[Node, ...]:
    """Every VAR of the AST, sizes included, by (name, lo, hi)."""
    found = [node for node in toposort(kernel.ast) if node.op is _VAR]
    return tuple(sorted(found, key=lambda node: node.attr))


def closers(order: Sequence[Node]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """For each reduce axis of an AST, the distinct sets of axes that REDUCEs close with it."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for node in order:
        if node.op is _REDUCE:
            for name in node.attr[1]:
                known = found.setdefault(name, [])
                if node.attr[1] not in known:
                    known.append(node.attr[1])
    return {name: tuple(known) for name, known in found.items()}


def moving_axes(kernel: Kernel, load: Node) -> tuple[str, ...]:
    """The axes of the AST on which the place of a LOAD, or whether it is valid, depends."""
    view = load.attr[0].views[-1]
    bounds_of = zip(kernel.domain, view.strides, view.bounds, strict=True)
    return tuple(
        [name for (name, size), step, valid in bounds_of if step != 0 or valid != (0, size)]
    )


def root_origin(kernel: Kernel, origin: str) -> str:
    """The axis of the AST that an origin belongs to."""
    if not kernel.pads:
        return origin
    parents = {pad.name: pad.origin for pad in kernel.pads}
    while origin in parents:
        origin = parents[origin]
    return origin


def span(kernel: Kernel, origin: str) -> int:
    """The greatest value of an index, padding included."""
    total = 0
    for part in kernel.pieces(origin):
        inner = span(kernel, part.name) if isinstance(part, Pad) else greatest(part.size) - 1
        total += part.step * inner
    return total


def greatest(size: Size) -> int:
    """The largest magnitude a size can have."""
    return abs(size) if isinstance(size, int) else max([abs(end) for end in bounds(size)])
