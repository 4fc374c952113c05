"""LDS: read a buffer through local memory, where what several iterations share is copied once."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel, buffers
from compiler.kernel.opts.limits import why_over_limits
from compiler.kernel.panels import staged_loads
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Lds:
    """Every LOAD of the buffer in slot `buffer` reads a panel that lies in local memory.

    A work-group copies its panel together; where there are no groups, the loop around the panel
    does: strided, masked and padded accesses become one contiguous one for all iterations inside.
    """

    op: ClassVar[str] = "LDS"
    buffer: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        if target.capabilities.shared_bytes == 0:
            return f"{target.backend} has no local memory, leave it out"
        if kernel.tile is not None:
            return f"{kernel.tile.core.name} reads by its layout, leave it out"
        if target.capabilities.has_local and not kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP):
            return "the kernel has no work-groups to share a panel, apply LOCAL first"
        if not isinstance(self.buffer, int) or isinstance(self.buffer, bool):
            return f"buffer {self.buffer} is {type(self.buffer).__name__}, use the number of one"
        known = len(buffers(kernel))
        if not 0 <= self.buffer < known:
            return f"no buffer {self.buffer}, the kernel has {known} counted from 0"
        if self.buffer in kernel.staged:
            return f"buffer {self.buffer} is read through local memory already"
        after = self.apply(kernel)
        if len(staged_loads(after)) == len(staged_loads(kernel)):
            return f"buffer {self.buffer} is not read"
        return why_over_limits(after, target)

    def apply(self, kernel: Kernel) -> Kernel:
        staged = (*kernel.staged, self.buffer)
        return replace(kernel, staged=staged, applied=(*kernel.applied, self))
