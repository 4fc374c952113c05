"""KEEP: the terms of a sum stay in local memory for the outputs that need them again."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.keeping import find_kept
from compiler.kernel.kernel import Kernel, root_origin
from compiler.kernel.opts.cut import find_axis
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target

_KINDS = (AxisKind.REDUCE, AxisKind.UNROLL)


@dataclass(frozen=True, slots=True)
class Keep:
    """What the REDUCE over `axis` adds up is not computed anew along the row: softmax's powers.

    One loop writes the row and the other reads it, so only a single work item can have it.
    """

    op: ClassVar[str] = "KEEP"
    axis: str

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        if target.capabilities.has_local:
            return f"{target.backend} has work-groups, whose items share no row, leave it out"
        if target.capabilities.shared_bytes == 0:
            return f"{target.backend} has no local memory, leave it out"
        if kernel.tile is not None:
            return f"{kernel.tile.core.name} adds up by its layout, leave it out"
        axis = find_axis(kernel, self.axis, _KINDS, "an axis that a REDUCE closes")
        if isinstance(axis, str):
            return axis
        term = root_origin(kernel, axis.origin)
        if term in kernel.kept:
            return f"the terms of {term} are kept already"
        found = find_kept(kernel, term)
        return found if isinstance(found, str) else why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        axis = kernel.find(self.axis)
        assert axis is not None, "the opt is legal"
        kept = (*kernel.kept, root_origin(kernel, axis.origin))
        return replace(kernel, kept=kept, applied=(*kernel.applied, self))
