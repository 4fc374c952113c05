"""What a scheduled kernel asks of work-groups and local memory, and whether the target has it."""

from compiler.ir import AxisKind
from compiler.kernel.keeping import kept_rows
from compiler.kernel.kernel import Kernel, iterations
from compiler.kernel.panels import panels, partial_bytes
from compiler.target import Target


def asks_nothing(kernel: Kernel) -> bool:
    """Whether there is neither a work-group nor local memory, whatever its lanes are."""
    if kernel.staged or kernel.kept or kernel.tile is not None:
        return False
    return not kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP)


def why_over_limits(kernel: Kernel, target: Target) -> str | None:
    """Why a work-group of `target`, or its local memory, cannot hold the kernel."""
    if asks_nothing(kernel):
        return None
    items = iterations(kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP))
    limit = target.capabilities.max_group_items
    if target.capabilities.has_local and items > limit:
        return f"a work-group of {items} items, {target.backend} has {limit} at most"
    if kernel.staged and kernel.of_kind(AxisKind.GROUP):
        return "work items that share a sum fill no panel together, use LDS or GROUP"
    have = target.capabilities.shared_bytes
    needed = shared_bytes(kernel, target)
    if needed is None:
        slots = " and ".join(map(str, kernel.staged))
        return f"no panel of buffer {slots} fits in the {have} bytes of {target.backend}"
    if needed > have:
        return f"needs {needed} bytes of local memory, {target.backend} has {have}"
    return None


def shared_bytes(kernel: Kernel, target: Target) -> int | None:
    """Local memory for partial results and staged buffers; None where a panel does not fit."""
    staged = panels(kernel, target.capabilities) if kernel.staged else {}
    if staged is None:
        return None
    kept = sum([row.bytes for row in kept_rows(kernel)])
    return partial_bytes(kernel) + kept + sum([panel.bytes for panel in staged.values()])
