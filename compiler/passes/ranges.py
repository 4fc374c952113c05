"""Which loops a node is inside of, as bit sets over the RANGEs of a graph."""

from collections.abc import Mapping, Sequence

from compiler.ir import AxisKind, Node, Op, Order, loop_parts

_RANGE, _FOLD, _LOOP, _ACC, _END = Op.RANGE, Op.FOLD, Op.LOOP, Op.ACC, Op.END
_DEPTH = {kind: depth for depth, kind in enumerate(AxisKind)}


def number_ranges(order: Order) -> dict[Node, int]:
    """The RANGEs of a graph and their numbers, by first appearance."""
    return {node: number for number, node in enumerate(order.of(_RANGE))}


def free_ranges(order: Order, numbers: Mapping[Node, int]) -> dict[Node, int]:
    """For each node the set of RANGEs its value depends on that nothing below it has closed."""
    owners = _acc_ranges(order, numbers)
    free: dict[Node, int] = {}
    for node in order:
        op = node.op
        if op is _RANGE:
            free[node] = 1 << numbers[node]
            continue
        if op is _ACC:
            free[node] = owners.get(node, 0)
            continue
        below = 0
        for child in node.src:
            below |= free[child]
        if op is _FOLD:
            below &= ~range_set(node.src[node.attr[1] :], numbers)
        elif op is _LOOP:
            below &= ~range_set(node.src[: node.attr[0]], numbers)
        elif op is _END:
            below &= ~range_set(node.src[:1], numbers)
        free[node] = below
    return free


def range_set(ranges: Sequence[Node], numbers: Mapping[Node, int]) -> int:
    """The bit set of `ranges`."""
    bits = 0
    for node in ranges:
        bits |= 1 << numbers[node]
    return bits


def _acc_ranges(order: Order, numbers: Mapping[Node, int]) -> dict[Node, int]:
    owners: dict[Node, int] = {}
    for node in order.of(_LOOP):
        ranges, _, accs, _ = loop_parts(node)
        bits = range_set(ranges, numbers)
        owners.update(dict.fromkeys(accs, bits))
    return owners


def of_kind(root: Node, order: Order, *kinds: AxisKind) -> list[Node]:
    """The RANGEs of these kinds in nesting order: kind by kind, then as the SINK's axes say.

    Ranges that the SINK does not name follow by first appearance.
    """
    place = {name: index for index, (name, _) in enumerate(root.attr[0])}
    found = [node for node in order.of(_RANGE) if node.attr[1] in kinds]
    last = len(place)
    return sorted(found, key=lambda node: (_DEPTH[node.attr[1]], place.get(node.attr[0], last)))
