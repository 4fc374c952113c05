"""GROUPTOP: share the terms of a reduce among the work items of one group, a run of them each."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts.cut import Side, cut
from compiler.kernel.opts.group import why_ungroupable
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class GroupTop:
    """Each of `amount` work items reduces a run of terms; the items' results are folded."""

    op: ClassVar[str] = "GROUPTOP"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        reason = why_ungroupable(kernel, target, self.axis, self.amount)
        return reason if reason is not None else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        return cut(kernel, self.axis, self.amount, AxisKind.GROUP, Side.OUTER, self)
