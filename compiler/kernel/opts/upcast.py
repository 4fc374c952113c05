"""UPCAST: compute several neighbouring outputs in one iteration."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts.cut import Side, cut, find_axis, why_uncuttable
from compiler.kernel.opts.limits import asks_nothing, why_over_limits
from compiler.target import Target

_KINDS = (AxisKind.GLOBAL, AxisKind.LOCAL)


@dataclass(frozen=True, slots=True)
class Upcast:
    """`amount` neighbouring iterations of an output axis become lanes or separate registers."""

    op: ClassVar[str] = "UPCAST"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        axis = find_axis(kernel, self.axis, _KINDS, "an output axis")
        if isinstance(axis, str):
            return axis
        reason = why_uncuttable(axis, self.amount)
        if reason is not None:
            return reason
        limit = target.capabilities.max_upcast
        if self.amount > limit:
            return f"amount {self.amount} is over {target.backend}'s {limit}, use {limit} or less"
        return None if asks_nothing(kernel) else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        return cut(kernel, self.axis, self.amount, AxisKind.UPCAST, Side.INNER, self)
