"""What a scheduled kernel asks of a work-group, and whether the target has it."""

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel, iterations, reduces, root_origin
from compiler.target import Target


def why_over_limits(kernel: Kernel, target: Target) -> str | None:
    """Why a work-group of `target` cannot hold the kernel."""
    if not kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP):
        return None
    items = iterations(kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP))
    limit = target.capabilities.max_group_items
    if items > limit:
        return f"a work-group of {items} items, {target.backend} has {limit} at most"
    needed = shared_bytes(kernel)
    if needed > target.capabilities.shared_bytes:
        have = target.capabilities.shared_bytes
        return f"needs {needed} bytes of local memory, {target.backend} has {have}"
    return None


def shared_bytes(kernel: Kernel) -> int:
    """Local memory for the partial results of grouped reduces: one per work item and upcast."""
    grouped = {root_origin(kernel, axis.origin) for axis in kernel.of_kind(AxisKind.GROUP)}
    if not grouped:
        return 0
    partials = iterations(kernel.of_kind(AxisKind.LOCAL, AxisKind.GROUP, AxisKind.UPCAST))
    return partials * sum(
        [node.dtype.itemsize for node in reduces(kernel) if not grouped.isdisjoint(node.attr[1])]
    )
