"""GROUP: share the neighbouring terms of a reduce among the work items of one group."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel, reduces
from compiler.kernel.opts.cut import Side, cut, find_axis, why_uncuttable
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Group:
    """Each work item of a group reduces every `amount`-th term; the items' results are folded."""

    op: ClassVar[str] = "GROUP"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        reason = why_ungroupable(kernel, target, self.axis, self.amount)
        return reason if reason is not None else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        return cut(kernel, self.axis, self.amount, AxisKind.GROUP, Side.INNER, self)


def why_ungroupable(kernel: Kernel, target: Target, name: str, amount: int) -> str | None:
    """Why no piece of the axis can be shared among work items, whichever piece it is."""
    if not kernel.uses_locals:
        return "NOLOCALS has been applied, leave it out"
    if not target.capabilities.has_local or target.capabilities.shared_bytes == 0:
        return f"{target.backend} has no local memory, use UNROLL"
    axis = find_axis(kernel, name, (AxisKind.REDUCE,), "a reduce axis that is still a loop")
    if isinstance(axis, str):
        return axis
    if kernel.tile is not None:
        return f"{kernel.tile.core.name} adds up in one work-group, use UNROLL"
    closed = [reduced for node in reduces(kernel) for reduced in node.attr[1]]
    twice = [reduced for reduced in dict.fromkeys(closed) if closed.count(reduced) > 1]
    if twice:
        return f"{twice[0]} is reduced by {closed.count(twice[0])} parallel reduces, needs one"
    return why_uncuttable(axis, amount)
