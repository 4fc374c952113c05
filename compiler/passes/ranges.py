"""The RANGEs of a graph in nesting order."""

from compiler.ir import AxisKind, Node, Op, Order

_RANGE = Op.RANGE
_DEPTH = {kind: depth for depth, kind in enumerate(AxisKind)}


def of_kind(root: Node, order: Order, *kinds: AxisKind) -> list[Node]:
    """The RANGEs of these kinds in nesting order: kind by kind, then as the SINK's axes say.

    Ranges that the SINK does not name follow by first appearance.
    """
    place = {name: index for index, (name, _) in enumerate(root.attr[0])}
    found = [node for node in order.of(_RANGE) if node.attr[1] in kinds]
    last = len(place)
    return sorted(found, key=lambda node: (_DEPTH[node.attr[1]], place.get(node.attr[0], last)))
