"""LOCAL: let the work items of one group compute neighbouring outputs."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts.cut import Side, cut, find_axis, why_uncuttable
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Local:
    """`amount` neighbouring iterations of a global axis become work items of one group."""

    op: ClassVar[str] = "LOCAL"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        if not kernel.uses_locals:
            return "NOLOCALS has been applied, leave it out"
        if not target.capabilities.has_local:
            return f"{target.backend} has no work-groups, use UPCAST"
        axis = find_axis(kernel, self.axis, (AxisKind.GLOBAL,), "a global axis")
        if isinstance(axis, str):
            return axis
        reason = why_uncuttable(axis, self.amount)
        return reason if reason is not None else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        return cut(kernel, self.axis, self.amount, AxisKind.LOCAL, Side.INNER, self)
