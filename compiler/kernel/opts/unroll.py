"""UNROLL: take several neighbouring terms of a reduce in one iteration."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts.cut import Side, cut, find_axis, why_uncuttable
from compiler.kernel.opts.limits import asks_nothing, why_over_limits
from compiler.target import Target

MAX_UNROLL = 32
_KINDS = (AxisKind.REDUCE, AxisKind.GROUP)


@dataclass(frozen=True, slots=True)
class Unroll:
    """`amount` neighbouring iterations of a reduce axis are computed side by side."""

    op: ClassVar[str] = "UNROLL"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        axis = find_axis(kernel, self.axis, _KINDS, "a reduce axis that is not unrolled yet")
        if isinstance(axis, str):
            return axis
        reason = why_uncuttable(axis, self.amount)
        if reason is not None:
            return reason
        if self.amount > MAX_UNROLL:
            return f"amount {self.amount} is over {MAX_UNROLL}, use {MAX_UNROLL} or less"
        return None if asks_nothing(kernel) else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        return cut(kernel, self.axis, self.amount, AxisKind.UNROLL, Side.INNER, self)
