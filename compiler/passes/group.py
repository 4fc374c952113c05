"""GROUP ranges: each work item reduces its part, the parts meet in local memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from compiler.errors import IRError
from compiler.ir import ARRAYS, VOID, AxisKind, Node, Op, intern, range_set
from compiler.passes.context import Context
from compiler.passes.ranges import of_kind
from compiler.rules import Builder

_LOCAL, _WRITE, _READ, _FOLD = Op.LOCAL, Op.WRITE, Op.READ, Op.FOLD
_AFTER, _BARRIER, _RANGE = Op.AFTER, Op.BARRIER, Op.RANGE


def group(root: Node, context: Context) -> Node:
    """Every FOLD over GROUP ranges as a FOLD by one work item, a BARRIER, and a FOLD of those."""
    order = context.order(root)
    shared = of_kind(root, order, AxisKind.GROUP)
    if not shared:
        return root
    if not context.target.capabilities.has_local:
        raise IRError(f"{shared[0]!r}: target {context.target.profile} has no work-groups")
    items = of_kind(root, order, AxisKind.LOCAL, AxisKind.GROUP)
    lowering = _Grouping(context.builder, order.ranges(), order.free(), tuple(items))
    done: dict[Node, Node] = {}
    temps = 0
    for node in order:
        src = tuple([done[child] for child in node.src])
        if node.op is _FOLD and any(child in shared for child in node.src[node.attr[1] :]):
            done[node] = lowering.fold(node, src, f"temp{temps}")
            temps += 1
        elif node.op is _WRITE and node.src[0].op in ARRAYS:
            done[node] = _by_first_item(context.builder, intern(node.op, VOID, src), shared)
        elif src != node.src:
            done[node] = context.builder.build(node.op, node.dtype, src, node.attr)
        else:
            done[node] = node
    return done[root]


def _by_first_item(b: Builder, write: Node, shared: Sequence[Node]) -> Node:
    """`write` by the one work item whose GROUP indices are 0: all hold the same value."""
    gate = write.src[3] if len(write.src) > 3 else None
    for index in shared:
        first = b.eq(index, 0)
        gate = first if gate is None else b.and_(gate, first)
    assert gate is not None, "a kernel with groups"
    return intern(_WRITE, VOID, (*write.src[:3], gate))


@dataclass(frozen=True, slots=True)
class _Grouping:
    builder: Builder
    numbers: Mapping[Node, int]
    free: Mapping[Node, int]
    items: tuple[Node, ...]  # the indices of a work item in its group

    def fold(self, node: Node, src: tuple[Node, ...], name: str) -> Node:
        """The lowered FOLD `node` over the new sources `src`."""
        op, terms = node.attr
        ranges = src[terms:]
        grouped = [axis for axis in ranges if axis.attr[1] is AxisKind.GROUP]
        own = [axis for axis in ranges if axis.attr[1] is not AxisKind.GROUP]
        partial = src[0]
        if own or terms > 1:
            partial = self.builder.build(_FOLD, node.dtype, (*src[:terms], *own), (op, terms))
        slot = [*self.items, *self._lanes(node)]
        memory = intern(_LOCAL, node.dtype, (), (name, prod([_size(axis) for axis in slot])))
        free = self._fresh(memory, node, partial)
        write = intern(_WRITE, VOID, (free, self._at(slot), partial))
        arrived = intern(_AFTER, node.dtype, (memory, intern(_BARRIER, VOID, (write,))))
        loops = {axis: _loop_over(axis) for axis in grouped}
        part = intern(
            _READ, node.dtype, (arrived, self._at([loops.get(axis, axis) for axis in slot]))
        )
        return self.builder.build(_FOLD, node.dtype, (part, *loops.values()), (op, 1))

    def _lanes(self, node: Node) -> list[Node]:
        """The lanes in which one work item holds a value of this fold: each has its slot."""
        free = self.free[node]
        kinds = (AxisKind.UPCAST, AxisKind.UNROLL)
        return [r for r, n in self.numbers.items() if free >> n & 1 and r.attr[1] in kinds]

    def _fresh(self, memory: Node, node: Node, partial: Node) -> Node:
        """`memory` free to be written again: inside a loop, when all have read the last round."""
        loops = [axis for axis in self.numbers if axis.attr[1] is AxisKind.REDUCE]
        if not self.free[node] & range_set(loops, self.numbers):
            return memory
        return intern(_AFTER, memory.dtype, (memory, intern(_BARRIER, VOID, (partial,))))

    def _at(self, slot: Sequence[Node]) -> Node:
        """The flat index of a slot, the last axis innermost."""
        b = self.builder
        flat = slot[0]
        for axis in slot[1:]:
            flat = b.add(b.mul(flat, _size(axis)), axis)
        return flat


def _size(axis: Node) -> int:
    size = axis.src[0]
    if not size.is_const:
        raise IRError(f"{axis!r}: the size of a work-group is not a number")
    return int(size.value)


def _loop_over(axis: Node) -> Node:
    """A loop of one work item over what the items along `axis` left."""
    return intern(_RANGE, axis.dtype, axis.src, (f"{axis.attr[0]}#all", AxisKind.REDUCE))
