"""The operands of a tensor core: which element of a matrix a work item holds, and what it computes.

A RANGE of the kernel stands for a bit field of the result's layout. An operand is lowered with
other indices in place of the axes of the tile: the row, column and term that the operand's own
layout gives to the work item and to the element.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir import COPIES, VOID, AxisKind, Layout, Node, Op, const, intern
from compiler.kernel.cores import Digit, Use, digits, factors, slots
from compiler.kernel.indexing import Indexer
from compiler.kernel.kernel import Kernel, Tile, greatest, reduces


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of a sum of products: a has rows and terms, b has terms and columns."""

    name: str
    operand: Node  # of the AST
    layout: Layout
    axes: str  # as it lies in local memory, the last one contiguous


@dataclass(frozen=True, slots=True)
class Fragments:
    """What the work items of one kernel hold. `ranges` are those of its axes."""

    kernel: Kernel
    index: Indexer
    ranges: Mapping[str, Node]
    has_groups: bool

    @property
    def tile(self) -> Tile:
        assert self.kernel.tile is not None, "TC has been applied"
        return self.kernel.tile

    def sides(self, reduce: Node) -> tuple[Side, Side]:
        core = self.tile.core
        found = factors(reduce, core, self.tile.matching)
        assert found is not None, "TC is legal"
        return Side("a", found[0], core.a, "mk"), Side("b", found[1], core.b, "kn")

    def held_by(self, side: Side) -> dict[str, Node]:
        """The indices of the tile's axes for the elements of an operand that a work item holds."""
        held: dict[str, Node] = {}
        for axis in side.axes:
            place = self._place_of(side, axis)
            for name, bit in self._tile_axes(axis):
                held[name] = self.index.size(0) if bit else place
        return held

    def _tile_axes(self, axis: str) -> list[tuple[str, int]]:
        """The kernel's axes of a row, column or term, and the first bit of each."""
        if axis == "k":
            return [] if self.tile.terms is None else [(self.tile.terms, 0)]
        layout = self.tile.core.c
        pairs = [
            *zip(digits(layout.items), self.tile.items, strict=True),
            *zip(digits(layout.elements), self.tile.elements, strict=True),
        ]
        return [(name, digit.bit) for digit, name in pairs if digit.axis == axis]

    def _place_of(self, side: Side, axis: str) -> Node:
        """The row, column or term of an element in terms of the work item and the element."""
        parts = [
            (self._item_bit(digit.start + offset), 1 << digit.bit + offset)
            for digit in digits(side.layout.items)
            if digit.axis == axis
            for offset in range(digit.width)
        ]
        elements = zip(digits(side.layout.elements), self.elements(side), strict=True)
        parts += [(range_, 1 << digit.bit) for digit, range_ in elements if digit.axis == axis]
        return self.index.sum_of(parts)

    def _item_bit(self, bit: int) -> Node:
        """One bit of the number of a work item in its warp."""
        b = self.index.builder
        for digit, name in zip(digits(self.tile.core.c.items), self.tile.items, strict=True):
            if digit.start <= bit < digit.start + digit.width:
                value, above = self.ranges[name], digit.width - 1 - (bit - digit.start)
                shifted = b.idiv(value, 1 << bit - digit.start) if bit > digit.start else value
                return b.mod(shifted, 2) if above else shifted
        raise AssertionError("a layout has no more work items than the result")

    def elements(self, side: Side) -> list[Node]:
        """A RANGE for each digit of the elements that a work item holds, lowest first."""
        return [
            intern(
                Op.RANGE,
                self.index.dtype,
                (self.index.size(digit.size),),
                (self._name(f"{side.name}{digit.start}"), AxisKind.UPCAST),
            )
            for digit in digits(side.layout.elements)
        ]

    def _name(self, name: str) -> str:
        """`name`, unless the kernel happens to have an axis of that name."""
        while self.kernel.find(name) is not None:
            name += "#"
        return name

    def product(self, reduce: Node, operands: Sequence[Node], closed: Sequence[Node]) -> Node:
        """The sum over `closed` of the products of two operands, as elements of the result."""
        sides = self.sides(reduce)
        if self.tile.use == Use.EMULATED:
            return self._emulated(reduce, sides, operands, closed)
        core = self.tile.core
        parts: list[Node] = []
        for side, value in zip(sides, operands, strict=True):
            src = (value, *_slowest(self.elements(side)))
            parts.append(intern(Op.FRAGMENT, value.dtype.vec(side.layout.count), src))
        result = core.dtypes[2].vec(core.c.count)
        value = intern(Op.WMMA, result, (*parts, const(result, 0)), (core.name,))
        loops = [axis for axis in closed if axis is not self._terms()]
        if loops:
            value = intern(Op.FOLD, result, (value, *loops), (Op.ADD, 1))
        ranges = [self.ranges[name] for name in self.tile.elements]
        return intern(Op.ELEMENT, result.scalar, (value, *_slowest(ranges)))

    def _terms(self) -> Node | None:
        return None if self.tile.terms is None else self.ranges[self.tile.terms]

    # --- emulation ---

    def _emulated(
        self, reduce: Node, sides: Sequence[Side], operands: Sequence[Node], closed: Sequence[Node]
    ) -> Node:
        """Each work item leaves what it holds in local memory and multiplies what it needs.

        Products are rounded as the AST says: this is a schedule like others, on any target.
        """
        b, loops = self.index.builder, [axis for axis in closed if axis is not self._terms()]
        product = reduce.src[0].src[0] if reduce.src[0].op is Op.CAST else reduce.src[0]
        values = [
            b.cast(self._exchanged(reduce, side, value, loops), product.dtype)
            for side, value in zip(sides, operands, strict=True)
        ]
        term = b.cast(b.mul(*values), reduce.dtype)
        return intern(Op.FOLD, reduce.dtype, (term, *closed), (Op.ADD, 1))

    def _exchanged(self, reduce: Node, side: Side, value: Node, loops: Sequence[Node]) -> Node:
        core = self.tile.core
        held = [(self._place_of(side, axis), core.size(axis)) for axis in side.axes]
        wanted = [(self._result_place(axis), core.size(axis)) for axis in side.axes]
        apart = slots(self.kernel, reduce, side.operand)
        outer = [(self.ranges[axis.name], greatest(axis.size)) for axis in apart]
        size = 1
        for _, count in (*outer, *held):
            size *= count
        memory = intern(Op.LOCAL, value.dtype, (), (self._array_name(reduce, side), size))
        src = (self._free(memory, loops), self._flat([*outer, *held]), value, *self._first(side))
        done = intern(Op.WRITE, VOID, src)
        if self.has_groups:
            done = intern(Op.BARRIER, VOID, (done,))
        arrived = intern(Op.AFTER, value.dtype, (memory, done))
        return intern(Op.READ, value.dtype, (arrived, self._flat([*outer, *wanted])))

    def _array_name(self, reduce: Node, side: Side) -> str:
        """a.r0 of the first sum, a1.r0 of the next: two sums may close the same axes."""
        number = reduces(self.kernel).index(reduce)
        return f"{side.name}{number or ''}.{'.'.join(reduce.attr[1])}"

    def _result_place(self, axis: str) -> Node:
        parts = [(self.ranges[name], 1 << bit) for name, bit in self._tile_axes(axis)]
        return self.index.sum_of(parts)

    def _flat(self, places: Sequence[tuple[Node, int]]) -> Node:
        step, parts = 1, list[tuple[Node, int]]()
        for place, size in reversed(places):
            parts.append((place, step))
            step *= size
        return self.index.sum_of(parts)

    def _first(self, side: Side) -> tuple[Node, ...]:
        """The gate of the one work item that stores what several hold."""
        b = self.index.builder
        copies = [bit for bit, name in enumerate(side.layout.items) if name == COPIES]
        gate = self.index.all_of([b.eq(self._item_bit(bit), 0) for bit in copies])
        return () if gate is None else (gate,)

    def _free(self, memory: Node, loops: Sequence[Node]) -> Node:
        """Memory that every work item has read what the last round left in."""
        rounds = [axis for axis in loops if axis.attr[1] is AxisKind.REDUCE]
        if not self.has_groups or not rounds:
            return memory
        round_ = intern(Op.BARRIER, VOID, (rounds[-1],))
        return intern(Op.AFTER, memory.dtype, (memory, round_))


def _slowest(ranges: Sequence[Node]) -> list[Node]:
    """Ranges in the order in which the last one varies fastest."""
    return list(reversed(ranges))


__all__ = ["Digit", "Fragments", "Side"]
