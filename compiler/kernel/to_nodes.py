"""Kernel -> nodes: every axis a RANGE, every view an offset and a gate, every REDUCE a FOLD."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from compiler.ir import (
    ELEMENTWISE,
    VOID,
    Node,
    Op,
    ViewStack,
    const,
    intern,
    toposort,
)
from compiler.kernel.axis import Pad
from compiler.kernel.cores import Use, load_of
from compiler.kernel.fragments import Fragments
from compiler.kernel.indexing import Indexer, Place, index_dtype
from compiler.kernel.keeping import Kept, RowMemory, kept_rows
from compiler.kernel.kernel import Kernel, closers, moving_axes, root_origin
from compiler.kernel.panels import Panel, panels
from compiler.kernel.staging import stage
from compiler.rules import Builder, identity
from compiler.target import Capabilities

_SINK, _WRITE, _READ, _FOLD, _RANGE = Op.SINK, Op.WRITE, Op.READ, Op.FOLD, Op.RANGE
_BUFFER = Op.BUFFER

_EFFECTS = (Op.STORE, Op.SINK)
_Clones = tuple[tuple[str, int], ...]  # (axis, number of its copy), see _Lowering.clones_of


_NO_LOCAL_MEMORY = Capabilities()


def to_nodes(
    kernel: Kernel, builder: Builder, capabilities: Capabilities = _NO_LOCAL_MEMORY
) -> Node:
    """The kernel in Spec.INDEXED: WRITEs over RANGEs; the SINK lists the loops in nesting order.

    `capabilities` say how large local memory is, and who fills it; without LDS they do not matter.
    """
    order = toposort(kernel.ast)
    index = Indexer(builder, index_dtype(kernel, order))
    staged = panels(kernel, capabilities) if kernel.staged else {}
    assert staged is not None, "LDS is legal"
    kept = {node: row for row in kept_rows(kernel) for node in (row.reduce, row.again)}
    has = (capabilities.has_local, capabilities.images)
    lowering = _Lowering(kernel, index, closers(order), {}, {}, staged, kept, *has)
    lowering.values_of(order, ())
    stores = [lowering.store(node) for node in kernel.ast.src]
    loops = tuple([(axis.name, axis.size) for axis in kernel.axes])
    return intern(_SINK, VOID, tuple(stores), (loops,))


@dataclass(frozen=True, slots=True)
class _Loops:
    """The RANGEs of the kernel and the indices made of them."""

    ranges: Mapping[str, Node]  # by axis
    indices: Mapping[str, Node]  # by axis of the AST
    guards: Mapping[str, tuple[Node, ...]]  # by axis of the AST: what holds outside its padding
    inside: Mapping[str, Node]  # by axis of the AST that is padded: an index within its real size


@dataclass(frozen=True, slots=True)
class _Lowering:
    """The lowering of one kernel. `loops` and `values` are its memo."""

    kernel: Kernel
    index: Indexer
    closers: Mapping[str, tuple[tuple[str, ...], ...]]
    loops: dict[_Clones, _Loops]
    values: dict[tuple[Node, _Clones], Node]
    panels: Mapping[Node, Panel]  # of the LOADs that go through local memory
    kept: Mapping[Node, Kept]  # of the REDUCEs whose terms are kept, and of what reads them again
    has_groups: bool
    has_images: bool

    def store(self, node: Node) -> Node:
        buffer, value = node.src
        loops = self.loops_of(())
        place = self.guarded_place(node.attr[0], loops)
        outputs = [name for name, _ in self.kernel.domain if name not in self.closers]
        guards = [guard for name in outputs for guard in loops.guards[name]]
        gate = self.index.all_of([*guards, *([] if place.valid is None else [place.valid])])
        src = (self.values[buffer, ()], place.offset, self.value(value, ()))
        return intern(_WRITE, VOID, src if gate is None else (*src, gate))

    def value(self, root: Node, clones: _Clones) -> Node:
        if (root, clones) not in self.values:
            self.values_of(toposort(root), clones)
        return self.values[root, clones]

    def values_of(self, order: list[Node], clones: _Clones) -> None:
        """Lower all values of `order`, in order."""
        for node in order:
            if node.op not in _EFFECTS and (node, clones) not in self.values:
                row = None if clones else self.kept.get(node)
                is_again = row is not None and node is row.again
                make = self.read_again if is_again else self.lower
                self.values[node, clones] = make(node, clones)

    def lower(self, node: Node, clones: _Clones) -> Node:
        if node.op in ELEMENTWISE:
            src = tuple([self.values[child, clones] for child in node.src])
            return self.index.builder.build(node.op, node.dtype, src, node.attr)
        match node.op:
            case Op.IMAGE:  # rows are known to devices that read pixels, to others it is a buffer
                return node if self.has_images else intern(_BUFFER, node.dtype, (), node.attr[:2])
            case Op.CONST:
                return node if node.attr[1] is None else self.masked(node, clones)
            case Op.LOAD:
                return self.read(node, clones)
            case Op.INDEX:
                return self.place_of(node, clones)
            case Op.GATHER:
                return self.gather(node, clones)
            case Op.REDUCE:
                return self.fold(node, clones)
            case _:
                return node

    def masked(self, node: Node, clones: _Clones) -> Node:
        value = const(node.dtype, node.value)
        place = self.index.place(node.attr[1], list(self.loops_of(clones).indices.values()))
        if place.valid is None:
            return value
        return self.index.builder.where(place.valid, value, const(node.dtype, 0))

    def read(self, node: Node, clones: _Clones) -> Node:
        loops = self.loops_of(clones)
        place = self.guarded_place(node.attr[0], loops)
        moving = moving_axes(self.kernel, node)
        guards = [guard for name in moving for guard in loops.guards[name]]
        gate = self.index.all_of([*guards, *([] if place.valid is None else [place.valid])])
        if gate is not None and gate.is_const:
            return const(node.dtype, 0)
        src = (self.values[node.src[0], clones], place.offset, *([] if gate is None else [gate]))
        read = intern(_READ, node.dtype, src)
        if node not in self.panels:
            return read
        return stage(self.panels[node], read, clones, loops.ranges, self.index, self.has_groups)

    def guarded_place(self, stack: ViewStack, loops: _Loops) -> Place:
        """The place of an access that is gated wherever an index lies in padding.

        So it may be right for the real sizes alone, where the indices between two views of a stack
        mostly need no division: padding would bring it back.
        """
        if len(stack.views) == 1 or not loops.inside:
            return self.index.place(stack, list(loops.indices.values()))
        place = self.index.place(stack, list({**loops.indices, **loops.inside}.values()))
        padded = {real: loops.indices[name] for name, real in loops.inside.items()}
        rebuild = self.index.builder.rebuild
        valid = None if place.valid is None else rebuild(place.valid, padded)
        return Place(rebuild(place.offset, padded), valid)

    def place_of(self, node: Node, clones: _Clones) -> Node:
        place = self.index.place(node.attr[0], list(self.loops_of(clones).indices.values()))
        offset = self.index.builder.cast(place.offset, node.dtype)
        if place.valid is None:
            return offset
        return self.index.builder.where(place.valid, offset, 0)

    def gather(self, node: Node, clones: _Clones) -> Node:
        """The read at a computed offset, under a gate unless the offset is proven to be inside."""
        buffer, offset = [self.values[child, clones] for child in node.src]
        gate = self.index.all_of(self.index.inside(offset, buffer.attr[1]))
        if gate is None:
            return intern(_READ, node.dtype, (buffer, offset))
        if gate.is_const:
            return const(node.dtype, 0)
        return intern(_READ, node.dtype, (buffer, offset, gate))

    def fold(self, node: Node, clones: _Clones) -> Node:
        op, names = node.attr
        inner = self.clones_of(names, clones)
        loops = self.loops_of(inner)
        if self.kernel.tile is not None and self.kernel.tile.use != Use.SHAPE:
            return self.products(node, inner)
        value = self.value(node.src[0], inner)
        if not inner and node in self.kept:
            value = self.row(node).written(value)
        guard = self.index.all_of([guard for name in names for guard in loops.guards[name]])
        if guard is not None:
            value = self.index.builder.where(guard, value, identity(op, node.dtype))
        return intern(Op.FOLD, node.dtype, (value, *self.owned(node, loops)), (op, 1))

    def read_again(self, node: Node, clones: _Clones) -> Node:
        """A term of a sum that has been kept."""
        return self.row(node).read(self.value(self.kept[node].reduce, clones))

    def row(self, node: Node) -> RowMemory:
        """The local memory of a kept row."""
        loops = self.loops_of(())
        return RowMemory(self.kept[node], self.index, loops.ranges, loops.indices)

    def products(self, node: Node, clones: _Clones) -> Node:
        """A sum of products on the tensor core, or as it would do it."""
        loops = self.loops_of(clones)
        fragments = Fragments(self.kernel, self.index, loops.ranges, self.has_groups)
        operands: list[Node] = []
        for side in fragments.sides(node):
            key = (*clones, (f"{side.name} of {node.attr[1][0]}", 0))  # a space: no name of an axis
            held = fragments.held_by(side)
            self.loops[key] = _make_loops(self.kernel, self.index, dict(clones), held)
            operands.append(self.zero_in_padding(side.operand, node.attr[1], key))
        return fragments.product(node, operands, self.owned(node, loops))

    def zero_in_padding(self, operand: Node, names: tuple[str, ...], clones: _Clones) -> Node:
        """An operand of a core. Its gate leaves out padded axes along which it does not move: there
        it has to be 0 all the same, as the other one may be, too, or may be inf beside a 0."""
        value, loops = self.value(operand, clones), self.loops_of(clones)
        moving = moving_axes(self.kernel, load_of(operand))
        still = [guard for name in names if name not in moving for guard in loops.guards[name]]
        guard = self.index.all_of(still)
        if guard is None:
            return value
        return self.index.builder.where(guard, value, const(value.dtype, 0))

    def owned(self, node: Node, loops: _Loops) -> list[Node]:
        """The ranges of the axes that a REDUCE closes."""
        owners = {axis.name: root_origin(self.kernel, axis.origin) for axis in self.kernel.axes}
        return [loops.ranges[axis] for axis, owner in owners.items() if owner in node.attr[1]]

    def clones_of(self, names: tuple[str, ...], clones: _Clones) -> _Clones:
        """A RANGE belongs to one loop: each set of axes that is closed together has its own."""
        copies = dict(clones)
        for name in names:
            number = self.closers[name].index(names)
            if number > 0:
                copies[name] = number
        return tuple(sorted(copies.items()))

    def loops_of(self, clones: _Clones) -> _Loops:
        if clones not in self.loops:
            self.loops[clones] = _make_loops(self.kernel, self.index, dict(clones))
        return self.loops[clones]


def _make_loops(
    kernel: Kernel,
    index: Indexer,
    copies: Mapping[str, int],
    held: Mapping[str, Node] = MappingProxyType({}),
) -> _Loops:
    """The loops of one set of copies; `held` says which axes have another index than a RANGE."""
    ranges: dict[str, Node] = {}
    for axis in kernel.axes:
        copy = copies.get(root_origin(kernel, axis.origin), 0)
        name = f"{axis.name}#{copy}" if copy else axis.name
        attr = (name, axis.kind)
        made = intern(_RANGE, index.dtype, (index.size(axis.size),), attr)
        ranges[axis.name] = held.get(axis.name, made)
    padded = {pad.name: _index(kernel, index, ranges, pad.name) for pad in kernel.pads}
    guards: dict[str, list[Node]] = {name: [] for name, _ in kernel.domain}
    for pad in kernel.pads:
        guard = index.builder.lt(padded[pad.name], pad.size)
        guards[root_origin(kernel, pad.origin)].append(guard)
    indices = {name: _index(kernel, index, ranges, name) for name, _ in kernel.domain}
    bounded = [(name, size) for name, size in kernel.domain if guards[name]]
    inside = {name: index.stand_in(f"{name} inside", size) for name, size in bounded}
    return _Loops(ranges, indices, {name: tuple(found) for name, found in guards.items()}, inside)


def _index(kernel: Kernel, index: Indexer, ranges: Mapping[str, Node], origin: str) -> Node:
    """The index `origin` as the sum of its pieces."""
    parts: list[tuple[Node, int]] = []
    for part in kernel.pieces(origin):
        if isinstance(part, Pad):
            value = _index(kernel, index, ranges, part.name)
        else:
            value = ranges[part.name]
        parts.append((value, part.step))
    return index.sum_of(parts)
