"""Sums of indices: lanes whose values differ by numbers alone share all but a constant.

Made lane by lane like other nodes, a sum would push each lane's number outward through every
addition. So it is made once, at the first lanes, and another lane is that and a constant.
"""

from collections.abc import Mapping, Sequence

from compiler.ir import Node, Op, const, intern
from compiler.passes.expand.lanes import Lanes

_ADD, _MUL = Op.ADD, Op.MUL

Steps = tuple[int, ...]  # by how much a value grows from lane to lane, for each lane axis


def find_sums(order: Sequence[Node], lanes: Lanes) -> Mapping[Node, Steps]:
    """The integers made of lane axes by ADD, and by MUL with a constant.

    Whatever else is in them, rules move constants out of these two, but not out of a SUB.
    """
    depends, still = lanes.depends, (0,) * len(lanes.axes)
    known = {axis: _unit(number, len(still)) for number, axis in enumerate(lanes.axes)}
    found: dict[Node, Steps] = {}
    for node in order:
        op = node.op
        if (op is not _ADD and op is not _MUL) or not depends[node] or not _is_index(node):
            continue
        a, b = [known.get(child) if depends[child] else still for child in node.src]
        if a is None or b is None:
            continue
        if op is _ADD:
            known[node] = found[node] = tuple([x + y for x, y in zip(a, b, strict=True)])
        elif node.src[1].is_const:
            factor = int(node.src[1].value)
            known[node] = found[node] = tuple([x * factor for x in a])
    return found


def _is_index(node: Node) -> bool:
    return node.dtype.is_int and node.dtype.count == 1


def _unit(place: int, count: int) -> Steps:
    return tuple([int(number == place) for number in range(count)])


def shifted(value: Node, distances: Sequence[int]) -> list[Node]:
    """`value` plus each number, as rules would leave it: the constant last, and none that is 0."""
    dtype, start = value.dtype, 0
    if value.is_const:
        return [const(dtype, int(value.value) + distance) for distance in distances]
    if value.op is _ADD and value.src[1].is_const:
        value, start = value.src[0], int(value.src[1].value)
    numbers = [const(dtype, start + distance) for distance in distances]
    return [intern(_ADD, dtype, (value, c)) if c.value != 0 else value for c in numbers]
