"""Reading through local memory: the loops that fill a panel, and the READ that finds it full."""

from collections.abc import Mapping, Sequence

from compiler.ir import VOID, AxisKind, Node, Op, intern
from compiler.kernel.axis import Axis
from compiler.kernel.indexing import Indexer
from compiler.kernel.panels import LANES, Panel

Clones = tuple[tuple[str, int], ...]


def stage(
    panel: Panel,
    read: Node,
    clones: Clones,
    ranges: Mapping[str, Node],
    index: Indexer,
    has_groups: bool,  # noqa: FBT001  # which of two ways, decided once per kernel
) -> Node:
    """`read` by way of local memory. `ranges` are the loops that it is inside of."""
    name = panel.name + "".join([f".{axis}.{number}" for axis, number in clones])
    memory = intern(Op.LOCAL, read.dtype, (), (name, panel.elements))
    fill = _fill_by_items if has_groups else _fill_by_loops
    arrived = fill(panel, read, memory, ranges, index)
    return intern(Op.READ, read.dtype, (arrived, _place(panel, ranges, index)))


def _place(panel: Panel, values: Mapping[str, Node], index: Indexer) -> Node:
    """The flat position of an element in the panel."""
    return index.sum_of([(values[name], step) for name, step in panel.strides.items()])


def _fill_by_loops(
    panel: Panel, read: Node, memory: Node, ranges: Mapping[str, Node], index: Indexer
) -> Node:
    """Loops of their own over all that is not lanes: lanes are copied side by side."""
    copies = {a.name: _loop(memory, a.name, ranges[a.name].src[0]) for a in panel.filled}
    moved = index.builder.rebuild(read, {ranges[name]: loop for name, loop in copies.items()})
    place = _place(panel, {**ranges, **copies}, index)
    effect = intern(Op.WRITE, VOID, (memory, place, moved))
    for axis in reversed(panel.filled):
        effect = intern(Op.END, VOID, (copies[axis.name], effect))
    return intern(Op.AFTER, memory.dtype, (memory, effect))


def _loop(memory: Node, name: str, size: Node) -> Node:
    attr = (f"{memory.attr[0]}.{name}", AxisKind.REDUCE)
    return intern(Op.RANGE, size.dtype, (size,), attr)


def _fill_by_items(
    panel: Panel, read: Node, memory: Node, ranges: Mapping[str, Node], index: Indexer
) -> Node:
    """The work items of a group take turns in copying rows of lanes."""
    b = index.builder
    item, items = _item(ranges, index)
    loops = [axis for axis in panel.axes if axis.kind not in LANES]
    rows = _size(loops)
    rounds = -(-rows // items)
    turn = _loop(memory, "turn", index.size(rounds)) if rounds > 1 else index.size(0)
    row = index.sum_of([(turn, items), (item, 1)])
    copies = _coordinates(row, loops, index)
    moved = b.rebuild(read, {ranges[name]: value for name, value in copies.items()})
    place = _place(panel, {**ranges, **copies}, index)
    gates: list[Node] = [] if rounds * items == rows else [b.lt(row, rows)]
    if gates and moved.op is Op.READ:
        gate = index.all_of([*gates, *moved.src[2:]])
        moved = intern(Op.READ, moved.dtype, (*moved.src[:2], *([gate] if gate else [])))
    effect = intern(Op.WRITE, VOID, (_free(panel, memory, ranges), place, moved, *gates))
    if rounds > 1:
        effect = intern(Op.END, VOID, (turn, effect))
    return intern(Op.AFTER, memory.dtype, (memory, intern(Op.BARRIER, VOID, (effect,))))


def _item(ranges: Mapping[str, Node], index: Indexer) -> tuple[Node, int]:
    """The number of a work item in its group, and how many there are."""
    inside = [r for r in ranges.values() if r.attr[1] is AxisKind.LOCAL]
    parts: list[tuple[Node, int]] = []
    count = 1
    for axis in reversed(inside):
        parts.append((axis, count))
        count *= int(axis.src[0].value)
    return index.sum_of(parts), count


def _size(axes: Sequence[Axis]) -> int:
    total = 1
    for axis in axes:
        assert isinstance(axis.size, int), "a panel has a size"
        total *= axis.size
    return total


def _coordinates(row: Node, loops: Sequence[Axis], index: Indexer) -> dict[str, Node]:
    """The index of each loop in a row, the last loop varying fastest."""
    b, found = index.builder, dict[str, Node]()
    for place, axis in enumerate(reversed(loops)):
        size = _size([axis])
        found[axis.name] = row if place == len(loops) - 1 else b.mod(row, size)
        row = b.idiv(row, size)
    return found


def _free(panel: Panel, memory: Node, ranges: Mapping[str, Node]) -> Node:
    """Local memory that may be filled again: every item has read what the last round left."""
    if not panel.rounds:
        return memory
    round_ = intern(Op.BARRIER, VOID, (ranges[panel.rounds[-1].name],))
    return intern(Op.AFTER, memory.dtype, (memory, round_))
