"""TC: compute sums of products as a tensor core does, tile by tile."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir import CORES, AxisKind, Core, find_core
from compiler.kernel.axis import Axis
from compiler.kernel.cores import PADDED, Choice, Digit, Use, choices, digits
from compiler.kernel.kernel import Kernel, Tile, in_nesting_order
from compiler.kernel.opts.cut import piece_name
from compiler.kernel.opts.limits import why_over_limits
from compiler.kernel.opts.pad_to import PadTo
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Tc:
    """Axes of an output and of its sum become rows, columns and terms of a core's products.

    `matching`: 0 takes LOADs and one reduce axis, 1 also casts of LOADs and several, 2 pads. `use`:
    1 multiplies on the core, 2 has only its loops, 3 does what it would do in local memory.
    """

    op: ClassVar[str] = "TC"
    core: str
    columns: str
    rows: str
    terms: str
    matching: int = 0
    use: int = 1

    @property
    def real_core(self) -> Core | None:
        """The core that multiplies; None where its loops are all there is of it."""
        return find_core(self.core) if self.use == Use.REAL else None

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        if kernel.applied:
            return "it has to be the first opt"
        reason = _why_bad_number("matching", self.matching, 0, PADDED)
        reason = reason or _why_bad_number("use", self.use, Use.REAL, Use.EMULATED)
        if reason is not None:
            return reason
        core = find_core(self.core) if isinstance(self.core, str) else None
        if core is None:
            return f"core {self.core} is unknown, use one of {' '.join([c.name for c in CORES])}"
        reason = why_unusable(core, self.use, target)
        if reason is not None:
            return reason
        found = choices(kernel, core, self.matching)
        if isinstance(found, str):
            return found
        if Choice(self.columns, self.rows, self.terms) not in found:
            known = ", ".join([f"{c.columns} {c.rows} {c.terms}" for c in found])
            return f"{self.columns} {self.rows} {self.terms} does not fit, use {known}"
        return self._why_unpaddable(kernel, core, target) or why_over_limits(
            self.apply(kernel), target
        )

    def _why_unpaddable(self, kernel: Kernel, core: Core, target: Target) -> str | None:
        for name, size in self._sizes(core):
            axis = kernel.find(name)
            assert axis is not None, "it matches"
            assert isinstance(axis.size, int), "it matches"
            if axis.size % size == 0:
                continue
            if self.matching < PADDED:
                return f"{size} does not divide {name} of size {axis.size}, use matching {PADDED}"
            pad = PadTo(name, size)
            reason = pad.why_illegal(kernel, target)
            if reason is not None:
                return reason
            kernel = pad.apply(kernel)
        return None

    def _sizes(self, core: Core) -> tuple[tuple[str, int], ...]:
        """The axes and the sizes of their tiles."""
        names = (self.columns, self.rows, self.terms)
        return tuple([(name, core.size(axis)) for name, axis in zip(names, "nmk", strict=True)])

    def apply(self, kernel: Kernel) -> Kernel:
        core = find_core(self.core)
        assert core is not None, "the opt is legal"
        after = kernel
        for name, size in self._sizes(core):
            axis = after.find(name)
            assert axis is not None, "the opt is legal"
            if size > 1 and isinstance(axis.size, int) and axis.size % size:
                after = PadTo(name, size).apply(after)
        whole = dict(zip("nmk", (self.columns, self.rows, self.terms), strict=True))
        cutting = _Cutting(after, core, whole)
        items = cutting.pieces(core.c.items, AxisKind.LOCAL)
        elements = cutting.pieces(core.c.elements, AxisKind.UPCAST)
        terms = cutting.term()
        rest = cutting.rest()
        tile = Tile(
            core,
            self.use,
            self.matching,
            tuple([axis.name for axis in items]),
            tuple([axis.name for axis in elements]),
            None if terms is None else terms.name,
        )
        inner = [*reversed(items), *reversed(elements), *([] if terms is None else [terms])]
        axes = in_nesting_order((*rest, *inner), tile.items)
        return replace(after, axes=axes, tile=tile, applied=(*kernel.applied, self))


class _Cutting:
    """The axes of a kernel while a tile is cut off. Owned by one `apply`."""

    def __init__(self, kernel: Kernel, core: Core, whole: dict[str, str]) -> None:
        self.kernel, self.core = kernel, core
        self.whole = {axis: self._find(name) for axis, name in whole.items()}
        self.made: list[Axis] = []

    def _find(self, name: str) -> Axis:
        axis = self.kernel.find(name)
        assert axis is not None, "the opt is legal"
        return axis

    def pieces(self, bits: tuple[str, ...], kind: AxisKind) -> list[Axis]:
        """An axis for each digit, lowest first."""
        suffix = ".w" if kind is AxisKind.LOCAL else ".e"
        return [self._piece(digit, kind, suffix) for digit in digits(bits)]

    def _piece(self, digit: Digit, kind: AxisKind, suffix: str) -> Axis:
        axis = self.whole[digit.axis]
        name = self._name(axis.name, suffix)
        piece = replace(axis, name=name, size=digit.size, kind=kind, step=axis.step << digit.bit)
        self.made.append(piece)
        return piece

    def _name(self, name: str, suffix: str) -> str:
        return piece_name(self.kernel, name, suffix, self.made)

    def term(self) -> Axis | None:
        size, axis = self.core.size("k"), self.whole["k"]
        if size == 1:
            return None
        piece = replace(axis, name=self._name(axis.name, ".i"), size=size, kind=AxisKind.UNROLL)
        self.made.append(piece)
        return piece

    def rest(self) -> list[Axis]:
        """What is left of the axes of the kernel."""
        sizes = {axis.name: self.core.size(letter) for letter, axis in self.whole.items()}
        found: list[Axis] = []
        for axis in self.kernel.axes:
            size = sizes.get(axis.name, 1)
            if size == 1:
                found.append(axis)
                continue
            assert isinstance(axis.size, int), "the opt is legal"
            if axis.size > size:
                left, name = axis.size // size, self._name(axis.name, ".o")
                found.append(replace(axis, name=name, size=left, step=axis.step * size))
        return found


def why_unusable(core: Core, use: int, target: Target) -> str | None:
    """Why `target` cannot have this core, or its loops, or a stand-in for it."""
    capabilities = target.capabilities
    if use == Use.REAL and core.name not in capabilities.tensor_cores:
        return f"{target.backend}/{target.profile} has no core {core.name}, use 2 or 3"
    if core.items > 1 and not capabilities.has_local:
        return f"{core.name} takes {core.items} work items, {target.backend} has no work-groups"
    if use == Use.EMULATED and capabilities.shared_bytes == 0:
        return f"{target.backend} has no local memory to emulate a core in"
    return None


def _why_bad_number(name: str, value: object, low: int, high: int) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return None
    return f"{name} {value}, use {low} to {high}"
