"""Lane axes that never meet become one: loops along one row are all vectors, not one of them.

A REDUCE and the outputs that need its result walk the same row in loops of their own, each with
lanes of its own. Where two lane axes of one size meet in no node, one lane may stand for both.
"""

from collections.abc import Mapping

from compiler.ir import Node, Op, Order
from compiler.passes.expand.lanes import Lanes, barred

_FOLD = Op.FOLD


def join_lanes(order: Order, lanes: Lanes, axis: int | None) -> Mapping[Node, Node]:
    """The lane axes that the vector axis `axis` can stand for, each with it."""
    if axis is None or len(lanes.axes) < 2:
        return {}
    alike = [n for n, size in enumerate(lanes.sizes) if n != axis and size == lanes.sizes[axis]]
    if not alike:
        return {}
    meeting = _meeting(order, lanes)
    taken, joined = meeting[axis] | barred(order, lanes), dict[Node, Node]()
    for number in alike:
        if not taken >> number & 1:
            taken |= meeting[number]
            joined[lanes.axes[number]] = lanes.axes[axis]
    return joined


def _meeting(order: Order, lanes: Lanes) -> list[int]:
    """For each lane axis those that some node depends on together with it: bit sets."""
    together = set(lanes.depends.values())
    for node in order.of(_FOLD):
        own = 0
        for child in node.src:
            own |= lanes.depends[child]
        together.add(own)
    found = [0] * len(lanes.axes)
    for bits in sorted(together):
        for number in range(len(found)):
            if bits >> number & 1:
                found[number] |= bits
    return found
