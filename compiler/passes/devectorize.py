"""Takes vectors of bools apart, lane by lane, for targets without them."""

from dataclasses import dataclass, field

from compiler.ir import BOOL, VOID, Kind, Node, Op, intern, loop_parts
from compiler.passes.context import Context
from compiler.rules import Builder

_BOOL = Kind.BOOL
_LANE, _SPLAT, _STACK, _WRITE = Op.LANE, Op.SPLAT, Op.STACK, Op.WRITE
_SHUFFLE = Op.SHUFFLE

_LOOP, _RESULT, _READ, _ACC = Op.LOOP, Op.RESULT, Op.READ, Op.ACC


def devectorize(root: Node, context: Context) -> Node:
    """The graph without bool vectors; what selects by one or converts one becomes scalars too."""
    if context.target.capabilities.bool_vectors:
        return root
    order = context.order(root)
    if not [node for node in order if node.dtype.kind is _BOOL and node.dtype.count > 1]:
        return root
    used = [node.attr[0] for node in order.of(_ACC)]
    lowering = _Lanes(context.builder, max(used, default=-1) + 1)
    touched: set[Node] = set()  # masks and what is above one; only asked
    for node in order:
        if _is_mask(node) or not touched.isdisjoint(node.src):
            touched.add(node)
            lowering.make(node)
    return lowering.value(root)


def _is_mask(node: Node) -> bool:
    return node.dtype.kind is _BOOL and node.dtype.count > 1


@dataclass(slots=True)
class _Lanes:
    """One run of the pass. The fields after `builder` belong to it alone and change as it goes."""

    builder: Builder
    accumulators: int  # the next free number
    done: dict[Node, Node] = field(default_factory=dict)  # what is another node now
    masks: dict[Node, tuple[Node, ...]] = field(default_factory=dict)  # bool vector -> its lanes
    writes: dict[Node, tuple[Node, ...]] = field(default_factory=dict)  # WRITE of a bool vector
    places: dict[Node, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    def make(self, node: Node) -> None:
        if node.op is _LOOP:
            self.done[node] = self.loop(node)
        elif _is_mask(node):
            self.masks[node] = self.lanes_of(node)
        elif node.op is _WRITE and _is_mask(node.src[2]):
            self.writes[node] = self.scatter(node)
        elif any(_is_mask(child) for child in node.src):
            self.done[node] = self.by_lane(node)
        elif node.op is _RESULT:
            index = self.places[node.src[0]][node.attr[0]][0]
            self.done[node] = intern(_RESULT, node.dtype, (self.value(node.src[0]),), (index,))
        else:
            src = tuple([made for child in node.src for made in self.effects(child)])
            self.done[node] = self.builder.build(node.op, node.dtype, src, node.attr)

    def value(self, node: Node) -> Node:
        """What a node that is neither a mask nor a store of one has become."""
        return self.done.get(node, node)

    def effects(self, node: Node) -> tuple[Node, ...]:
        return self.writes[node] if node in self.writes else (self.value(node),)

    def lane(self, node: Node, index: int) -> Node:
        """Lane `index` of a source, whatever it has become."""
        if node in self.masks:
            return self.masks[node][index]
        value = self.value(node)
        if value.dtype.count == 1:
            return value
        return self.builder.build(_LANE, value.dtype.scalar, (value,), (index,))

    def scalars(self, node: Node, count: int) -> list[Node]:
        """An elementwise op done lane by lane."""
        build, dtype = self.builder.build, node.dtype.scalar
        rows = [tuple([self.lane(child, index) for child in node.src]) for index in range(count)]
        return [build(node.op, dtype, src, node.attr) for src in rows]

    def by_lane(self, node: Node) -> Node:
        if node.op is _LANE:
            return self.masks[node.src[0]][node.attr[0]]
        return self.builder.build(_STACK, node.dtype, tuple(self.scalars(node, node.dtype.count)))

    def lanes_of(self, node: Node) -> tuple[Node, ...]:
        """The lanes of a bool vector."""
        count = node.dtype.count
        if node.op is _SPLAT:
            return (self.value(node.src[0]),) * count
        if node.op is _STACK:
            return tuple([self.value(child) for child in node.src])
        if node.op is _SHUFFLE:
            width = node.src[0].dtype.count
            return tuple([self.lane(node.src[n // width], n % width) for n in node.attr[0]])
        if node.op is _READ:
            buffer, offset = self.value(node.src[0]), self.value(node.src[1])
            offsets = [self.builder.add(offset, lane) for lane in range(count)]
            return tuple([intern(_READ, BOOL, (buffer, each)) for each in offsets])
        if node.op is _ACC:
            first = self.accumulators
            self.accumulators += count
            return tuple([intern(_ACC, BOOL, (), (first + lane,)) for lane in range(count)])
        if node.op is _RESULT:
            loop, places = self.value(node.src[0]), self.places[node.src[0]][node.attr[0]]
            return tuple([intern(_RESULT, BOOL, (loop,), (place,)) for place in places])
        return tuple(self.scalars(node, count))

    def scatter(self, node: Node) -> tuple[Node, ...]:
        """A WRITE of a bool vector as one for each lane."""
        buffer, offset = self.value(node.src[0]), self.value(node.src[1])
        gate = tuple([self.value(child) for child in node.src[3:]])
        return tuple(
            [
                intern(_WRITE, VOID, (buffer, self.builder.add(offset, lane), value, *gate))
                for lane, value in enumerate(self.masks[node.src[2]])
            ]
        )

    def loop(self, node: Node) -> Node:
        """A LOOP whose bool vectors have become one accumulator for each lane."""
        ranges, inits, accs, values = loop_parts(node)
        columns: list[list[Node]] = [[], [], []]
        places: list[tuple[int, ...]] = []
        for parts in zip(inits, accs, values, strict=True):
            first = len(columns[0])
            for column, part in zip(columns, parts, strict=True):
                column.extend(self.masks[part] if part in self.masks else (self.value(part),))
            places.append(tuple(range(first, len(columns[0]))))
        self.places[node] = tuple(places)
        src = (*[self.value(axis) for axis in ranges], *columns[0], *columns[1], *columns[2])
        return intern(_LOOP, VOID, src, (len(ranges), len(columns[0])))
