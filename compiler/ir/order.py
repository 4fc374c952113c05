"""The nodes of a graph in order, and what is asked of all of them at once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from compiler.ir.node import Node, closed_by, loop_accs
from compiler.ir.op import Op

_RANGE, _FOLD, _LOOP, _ACC, _END = Op.RANGE, Op.FOLD, Op.LOOP, Op.ACC, Op.END
_SCOPED = frozenset((_RANGE, _ACC, _FOLD, _LOOP, _END))


class Order(list[Node]):
    """Nodes of a graph, sources first. Each answer is found by one look at them all, and kept.

    Not to be changed once it has been asked.
    """

    __slots__ = ("_by_op", "_free", "_ranges")
    _by_op: dict[Op, list[Node]]
    _free: dict[Node, int]
    _ranges: dict[Node, int]

    def of(self, op: Op) -> Sequence[Node]:
        """The nodes of one op, in order."""
        return self.by_op().get(op, ())

    def by_op(self) -> Mapping[Op, Sequence[Node]]:
        """The nodes of each op that there is, in order."""
        try:
            return self._by_op
        except AttributeError:
            found: defaultdict[Op, list[Node]] = defaultdict(list)
            for node in self:
                found[node.op].append(node)
            self._by_op = dict(found)
            return self._by_op

    def ranges(self) -> Mapping[Node, int]:
        """The RANGEs and their numbers, by first appearance."""
        try:
            return self._ranges
        except AttributeError:
            self._ranges = {node: number for number, node in enumerate(self.of(_RANGE))}
            return self._ranges

    def free(self) -> Mapping[Node, int]:
        """For each node the RANGEs its value depends on that nothing below it has closed.

        Bit sets over the numbers of `ranges`.
        """
        try:
            return self._free
        except AttributeError:
            self._free = _free_ranges(self, self.ranges())
            return self._free


def _free_ranges(order: Order, numbers: Mapping[Node, int]) -> dict[Node, int]:
    own: dict[Node, int] = dict.fromkeys(order.of(_ACC), 0)
    for loop in order.of(_LOOP):  # an accumulator depends on the ranges of its loop
        own.update(dict.fromkeys(loop_accs(loop), range_set(closed_by(loop), numbers)))
    own.update({axis: 1 << number for axis, number in numbers.items()})
    free: dict[Node, int] = {}
    for node in order:
        src = node.src
        if len(src) == 2:  # spelled out, as there are thousands
            below = free[src[0]] | free[src[1]]
        else:
            below = 0
            for child in src:
                below |= free[child]
        if node.op in _SCOPED:
            below = own[node] if node in own else below & ~range_set(closed_by(node), numbers)
        free[node] = below
    return free


def range_set(ranges: Sequence[Node], numbers: Mapping[Node, int]) -> int:
    """The bit set of `ranges`."""
    bits = 0
    for node in ranges:
        bits |= 1 << numbers[node]
    return bits
