"""The variants of each node: one for every combination of the lanes it depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir import ARRAYS, VOID, Node, Op
from compiler.passes.expand.layout import EACH, FIRST, VECTOR, Form, Layout
from compiler.passes.expand.sums import Steps, shifted
from compiler.rules import Builder

_SPLAT, _STACK, _LANE, _SHUFFLE = Op.SPLAT, Op.STACK, Op.LANE, Op.SHUFFLE
_READ = Op.READ

Table = dict[Node, list[Node]]  # a node's variants, the last axis it depends on varying fastest
_BUFFERS = ARRAYS | {Op.LOCAL, Op.AFTER}


@dataclass(frozen=True, slots=True)
class Variants:
    """`tables[form]` holds the variants made so far; a node that stays as it is is in none.

    Of `sums`, what is no vector is made when it is asked for, from the value at the first lanes.
    """

    builder: Builder
    layout: Layout
    tables: tuple[Table, Table, Table]
    sums: Mapping[Node, Steps]
    first: dict[Node, Node]  # of lane axes and sums; grows as they come
    wide: dict[tuple[Node, int], Node] = field(default_factory=dict)  # memo of `widened`

    def keep(self, node: Node, form: Form, made: list[Node]) -> None:
        """Without the vector axis all forms are one."""
        self.tables[form][node] = made
        if not self.layout.on_vector(node):
            self.tables[FIRST][node] = self.tables[EACH][node] = made

    def of(self, node: Node, form: Form) -> Sequence[Node]:
        """Every variant."""
        made = self.tables[form].get(node)
        if made is not None:
            return made
        steps = self.sums.get(node)
        if steps is None:
            return (node,)
        made = self.lanes_of_sum(node, steps, form)
        self.keep(node, form, made)
        return made

    def begin_sum(self, node: Node) -> None:
        """Make a sum at the first lanes."""
        src = [self.first.get(child) or self.of(child, VECTOR)[0] for child in node.src]
        self.first[node] = self.builder.build(node.op, node.dtype, tuple(src), node.attr)

    def lanes_of_sum(self, node: Node, steps: Steps, form: Form) -> list[Node]:
        """Its value at the first lanes, and what each lane adds to that."""
        distances = [0]
        for axis in self.layout.axes(self.layout.lanes.depends[node]):
            moves = [steps[axis] * lane for lane in self.layout.numbers(axis, form)]
            distances = [distance + move for distance in distances for move in moves]
        return shifted(self.first[node], distances)

    def column(self, child: Node, depends: int, form: Form) -> Sequence[Node]:
        """The variant of `child` that belongs to each variant over `depends`."""
        made = self.of(child, form)
        own = self.layout.lanes.depends[child]
        if own == depends:
            return made
        places = self.layout.project(depends, own, form)
        return [made[place] for place in places] if own else [made[0]] * len(places)

    def addresses(self, access: Node, form: Form) -> list[Sequence[Node]]:
        """The buffer, the offset, [the gate] of a READ or WRITE at each of its variants."""
        depends = self.layout.lanes.depends[access]
        src = access.src if access.op is _READ else (*access.src[:2], *access.src[3:])
        return [self.column(child, depends, form) for child in src]

    def vectors(self, child: Node, depends: int) -> Sequence[Node]:
        """The same as vectors, where `depends` is on the vector axis."""
        made = self.column(child, depends, VECTOR)
        pairs = zip(made, self.widths(depends), strict=True)
        return [c if c.dtype.count == width else self.widened(c, width) for c, width in pairs]

    def widths(self, depends: int) -> list[int]:
        """The number of lanes of each vector variant over `depends`."""
        assert self.layout.axis is not None
        found = self.layout.widths.get(depends)
        if found is None:
            places = self.layout.project(depends, 1 << self.layout.axis, VECTOR)
            found = [self.layout.chunks[place][1] for place in places]
            self.layout.widths[depends] = found
        return found

    def widened(self, value: Node, width: int) -> Node:
        """A value of `width` lanes: as it is, or the same in all of them."""
        found = self.wide.get((value, width))
        if found is None:
            dtype = value.dtype
            if dtype.count == width or dtype is VOID or value.op in _BUFFERS:
                return value
            found = self.builder.build(_SPLAT, dtype.vec(width), (value,))
            self.wide[value, width] = found
        return found

    def stack(self, scalars: Sequence[Node]) -> Node:
        if len(scalars) == 1:
            return scalars[0]
        return self.builder.build(_STACK, scalars[0].dtype.vec(len(scalars)), tuple(scalars))

    def shuffle(self, vectors: Sequence[Node], lanes: Sequence[int]) -> Node:
        """These lanes of one or two vectors, those of the second counted after the first's."""
        dtype = vectors[0].dtype.scalar.vec(len(lanes))
        return self.builder.build(_SHUFFLE, dtype, tuple(vectors), (tuple(lanes),))

    def part(self, vector: Node, start: int, count: int) -> Node:
        """`count` neighbouring lanes."""
        if count == 1:
            return self.lane(vector, start)
        return self.shuffle((vector,), range(start, start + count))

    def lane(self, vector: Node, lane: int) -> Node:
        if vector.dtype.count == 1:
            return vector
        return self.builder.build(_LANE, vector.dtype.scalar, (vector,), (lane,))
