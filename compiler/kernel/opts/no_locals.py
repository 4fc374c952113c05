"""NOLOCALS: rule out work-groups for the opts that follow."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class NoLocals:
    """No LOCAL, GROUP or GROUPTOP may follow."""

    op: ClassVar[str] = "NOLOCALS"

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        if not target.capabilities.has_local:
            return f"{target.backend} has no work-groups, leave it out"
        if not kernel.uses_locals:
            return "NOLOCALS has been applied before, leave it out"
        inside = kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP)
        if inside:
            return f"{inside[0].name} is {inside[0].kind.name} already, apply NOLOCALS first"
        return None

    def apply(self, kernel: Kernel) -> Kernel:
        return replace(kernel, uses_locals=False, applied=(*kernel.applied, self))
