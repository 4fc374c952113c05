"""A kernel as the work of a tensor core: which products one can compute, and by which loops."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from math import prod

from compiler.ir import AxisKind, Core, DType, Node, Op
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel, greatest, moving_axes, reduces, root_origin

_LANES = (AxisKind.UPCAST, AxisKind.UNROLL)
DIRECT, CONVERTED, PADDED = 0, 1, 2  # what may be matched: LOADs, casts of LOADs, other sizes


class Use(IntEnum):
    """What a kernel does with the shape of a core. The numbers are those of the opt's text."""

    REAL = 1  # the core multiplies
    SHAPE = 2  # its loops alone
    EMULATED = 3  # operands meet in local memory, where every work item multiplies and adds itself


@dataclass(frozen=True, slots=True)
class Choice:
    """The axes of a kernel that become columns (n), rows (m) and terms (k) of products."""

    columns: str
    rows: str
    terms: str


@dataclass(frozen=True, slots=True)
class Digit:
    """Neighbouring bits of a work item or element that are neighbouring bits of an axis."""

    start: int  # the first bit of the work item, or of the element
    width: int
    axis: str  # m, n, k, or COPIES
    bit: int  # the first bit of the row, column or term

    @property
    def size(self) -> int:
        return 1 << self.width


def digits(bits: Sequence[str]) -> tuple[Digit, ...]:
    """The longest runs of a layout's bits, lowest first."""
    found: list[Digit] = []
    for start, name in enumerate(bits):
        axis, bit = name[0], int(name[1:] or 0)
        last = found[-1] if found else None
        if last is not None and last.axis == axis and last.bit + last.width == bit:
            found[-1] = Digit(last.start, last.width + 1, axis, last.bit)
        else:
            found.append(Digit(start, 1, axis, bit))
    return tuple(found)


def factors(reduce: Node, core: Core, matching: int) -> tuple[Node, Node] | None:
    """The operands a and b of a REDUCE that adds up products; None where it does not.

    A product of narrow numbers may be made in their dtype and cast, or of numbers that were cast
    first: a core rounds no product.
    """
    a, b, c = core.dtypes
    if reduce.attr[0] is not Op.ADD or reduce.dtype is not c:
        return None
    value = reduce.src[0]
    if value.op is Op.CAST and value.src[0].op is Op.MUL:
        value = value.src[0]
    if value.op is not Op.MUL or value.dtype not in (a, c):
        return None
    left, right = [_operand(child, (a, b), matching) for child in value.src]
    if left is None or right is None:
        return None
    if (left.dtype, right.dtype) == (a, b):
        return left, right
    return (right, left) if (right.dtype, left.dtype) == (a, b) else None


def _operand(node: Node, narrow: tuple[DType, ...], matching: int) -> Node | None:
    """What a core is given for a factor: a LOAD, or above DIRECT a cast of one."""
    value = node
    if node.dtype not in narrow:
        if node.op is not Op.CAST:
            return None
        value = node.src[0]
    is_cast = value.op is Op.CAST and value.src[0].op is Op.LOAD
    return value if value.op is Op.LOAD or (is_cast and matching >= CONVERTED) else None


def load_of(operand: Node) -> Node:
    """The LOAD below an operand."""
    return operand if operand.op is Op.LOAD else operand.src[0]


def choices(kernel: Kernel, core: Core, matching: int) -> tuple[Choice, ...] | str:
    """Every choice of axes for a core in order, or why there is none.

    All REDUCEs must leave the same: one kernel has one set of loops.
    """
    found = reduces(kernel)
    if not found:
        return "the kernel has no REDUCE"
    terms = kernel.of_kind(AxisKind.REDUCE)
    if len(terms) != 1 and matching < CONVERTED:
        return f"{len(terms)} reduce axes, matching {matching} takes one"
    each: list[tuple[Choice, ...]] = []
    for reduce in found:
        sides = factors(reduce, core, matching)
        if sides is None:
            return f"{reduce!r} is no sum of products of {core.dtypes[0]} and {core.dtypes[1]}"
        each.append(tuple(_choices(kernel, reduce, *sides)))
    if any(other != each[0] for other in each):
        return "the REDUCEs differ in rows, columns or terms"
    return each[0] or "no axis repeats one operand and moves the other"


def _choices(kernel: Kernel, reduce: Node, a: Node, b: Node) -> Iterator[Choice]:
    left, right = [moving_axes(kernel, load_of(side)) for side in (a, b)]
    outputs = [x.name for x in kernel.of_kind(AxisKind.GLOBAL) if isinstance(x.size, int)]
    columns = [name for name in outputs if name not in left]
    rows = [name for name in outputs if name not in right]
    terms = [
        axis.name
        for axis in kernel.of_kind(AxisKind.REDUCE)
        if axis.name in reduce.attr[1] and isinstance(axis.size, int)
    ]
    for n, m, k in product(columns, rows, terms):
        if n != m:
            yield Choice(n, m, k)


def slots(kernel: Kernel, reduce: Node, operand: Node) -> tuple[Axis, ...]:
    """What tells the values of an operand apart that a work-group holds, besides the tile.

    In the padding of its terms an operand is 0, also where it does not move along them.
    """
    assert kernel.tile is not None, "the kernel has a core"
    padded = {root_origin(kernel, pad.origin) for pad in kernel.pads}
    differs = {*moving_axes(kernel, load_of(operand)), *padded.intersection(reduce.attr[1])}
    others = [axis for axis in kernel.axes if axis.name not in kernel.tile.axes]
    return tuple(
        [
            axis
            for axis in others
            if axis.kind is AxisKind.LOCAL
            or (axis.kind in _LANES and root_origin(kernel, axis.origin) in differs)
        ]
    )


def emulation_bytes(kernel: Kernel) -> int:
    """Local memory for the operands of an emulated core."""
    tile = kernel.tile
    if tile is None or tile.use != Use.EMULATED:
        return 0
    total = 0
    for reduce in reduces(kernel):
        sides = factors(reduce, tile.core, tile.matching)
        assert sides is not None, "TC is legal"
        for side, axes in zip(sides, ("mk", "kn"), strict=True):
            copies = prod([greatest(axis.size) for axis in slots(kernel, reduce, side)])
            elements = tile.core.size(axes[0]) * tile.core.size(axes[1])
            total += copies * elements * side.dtype.itemsize
    return total
