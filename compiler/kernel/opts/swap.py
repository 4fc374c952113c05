"""SWAP: exchange the places of two global axes."""

from dataclasses import dataclass
from typing import ClassVar

from compiler.ir import AxisKind
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts.cut import find_axis
from compiler.kernel.opts.limits import why_over_limits
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Swap:
    """Two global axes change places; `axis` is the outer one before."""

    op: ClassVar[str] = "SWAP"
    axis: str
    other: str

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        places: list[int] = []
        for name in (self.axis, self.other):
            axis = find_axis(kernel, name, (AxisKind.GLOBAL,), "two global axes")
            if isinstance(axis, str):
                return axis
            places.append(kernel.axes.index(axis))
        if places[0] >= places[1]:
            return f"{self.axis} is not outside of {self.other}, name the outer axis first"
        return why_over_limits(self.apply(kernel), target)

    def apply(self, kernel: Kernel) -> Kernel:
        axis, other = kernel.find(self.axis), kernel.find(self.other)
        assert axis is not None, "the opt is legal"
        assert other is not None, "the opt is legal"
        exchange = {axis: other, other: axis}
        axes = tuple([exchange.get(each, each) for each in kernel.axes])
        return kernel.after(self, axes)
