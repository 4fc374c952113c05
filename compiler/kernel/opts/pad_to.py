"""PADTO: lengthen an axis to a multiple, so that other opts can cut it."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.axis import Axis, Pad
from compiler.kernel.keeping import kept_rows
from compiler.kernel.kernel import Kernel, root_origin, span, variables
from compiler.kernel.opts.cut import find_axis, why_bad_amount
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target

MAX_GROWTH = 4
_KINDS = (AxisKind.GLOBAL, AxisKind.LOCAL, AxisKind.GROUP, AxisKind.REDUCE)


@dataclass(frozen=True, slots=True)
class PadTo:
    """Pad an axis to a multiple of `amount`. Extra iterations load 0 and store nothing.

    They give every REDUCE its own identity, whatever is computed below it: so any reduce axis may
    be padded, and only the amount of extra work is judged.
    """

    op: ClassVar[str] = "PADTO"
    axis: str
    amount: int

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        symbolic = variables(kernel)
        if symbolic:
            return f"the kernel has the variable {symbolic[0].attr[0]}, needs constant sizes"
        axis = find_axis(kernel, self.axis, _KINDS, "an axis that is still a loop")
        if isinstance(axis, str):
            return axis
        reason = why_bad_amount(self.amount) or _why_kept(kernel, axis)
        if reason is not None:
            return reason
        assert isinstance(axis.size, int), "no variables, no symbolic sizes"
        if axis.size % self.amount == 0:
            return f"{self.axis} of size {axis.size} is a multiple of {self.amount} already"
        if axis.size <= self.amount // MAX_GROWTH:
            return (
                f"{self.axis} of size {axis.size} grows to {self.amount}, "
                f"more than {MAX_GROWTH} times the work; use a smaller amount"
            )
        return why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        axis = kernel.find(self.axis)
        assert axis is not None, "the opt is legal"
        assert isinstance(axis.size, int), "the opt is legal"
        size = -(-axis.size // self.amount) * self.amount
        padded = replace(axis, size=size)
        pads = kernel.pads
        if not _is_outermost_of_pad(kernel, axis):
            pad = Pad(_pad_name(kernel, axis.name), axis.size, axis.origin, axis.step)
            padded, pads = replace(padded, origin=pad.name, step=1), (*pads, pad)
        axes = tuple([padded if other is axis else other for other in kernel.axes])
        return replace(kernel, axes=axes, pads=pads, applied=(*kernel.applied, self))


def _why_kept(kernel: Kernel, axis: Axis) -> str | None:
    """A row in local memory has no room for padding."""
    rows = kept_rows(kernel) if kernel.kept else ()
    if any(root_origin(kernel, axis.origin) in (row.term, row.place) for row in rows):
        return f"{axis.name} lies along a row that KEEP holds as it is"
    return None


def _is_outermost_of_pad(kernel: Kernel, axis: Axis) -> bool:
    """Whether more iterations of `axis` only lengthen an index that is guarded already."""
    if not any(pad.name == axis.origin for pad in kernel.pads):
        return False
    assert isinstance(axis.size, int), "padded kernels have constant sizes"
    return axis.step * axis.size == span(kernel, axis.origin) + 1


def _pad_name(kernel: Kernel, name: str) -> str:
    taken = {pad.name for pad in kernel.pads} | {known for known, _ in kernel.domain}
    name += ".p"
    while name in taken:
        name += ".p"
    return name
