"""Under which conditions a value matters: what is stored under a gate is not read elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir import ELEMENTWISE, Node, Op, loop_parts

Guards = frozenset[Node]  # conditions that all hold; only asked and intersected
_NOTHING: Guards = frozenset()
_THROUGH = ELEMENTWISE | {Op.STACK, Op.SPLAT, Op.LANE}


def conjuncts(gate: Node) -> Guards:
    """The conditions that all hold where `gate` does; one that all lanes share is a scalar."""
    if gate.op is Op.AND:
        return conjuncts(gate.src[0]) | conjuncts(gate.src[1])
    return conjuncts(gate.src[0]) if gate.op is Op.SPLAT else frozenset((gate,))


def find_guards(order: Sequence[Node]) -> Mapping[Node, Guards]:
    """For each value, conditions outside of which nothing depends on it."""
    if not any(node.op is Op.WRITE and len(node.src) == 4 for node in order):
        return {}
    demands = _Demands({}, {})
    for node in reversed(order):  # users first
        demands.visit(node)
    return demands.found


@dataclass(frozen=True, slots=True)
class _Demands:
    """What is known so far. An accumulator is read by its own total alone: pass reduce makes no
    others. So each total of a LOOP is judged by itself, by its RESULTs."""

    found: dict[Node, Guards]
    totals: dict[tuple[Node, int], Guards]

    def visit(self, node: Node) -> None:
        """Pass on to the sources of `node` what is known of its users."""
        guards = self.found.get(node, _NOTHING)
        if node.op is Op.WRITE:
            self.demand(node.src[2:3], conjuncts(node.src[3]) if len(node.src) == 4 else _NOTHING)
            self.demand((*node.src[:2], *node.src[3:]), _NOTHING)
        elif node.op is Op.RESULT:
            place = (node.src[0], node.attr[0])
            self.totals[place] = guards & self.totals.get(place, guards)
        elif node.op is Op.LOOP:
            self.loop(node)
        elif node.op in _THROUGH:
            same = node.dtype.count == node.src[0].dtype.count
            self.demand(node.src, guards if same else _of_all_lanes(guards))
        else:
            self.demand(node.src, _NOTHING)

    def loop(self, node: Node) -> None:
        ranges, inits, accs, values = loop_parts(node)
        self.demand((*ranges, *accs), _NOTHING)
        for index, pair in enumerate(zip(inits, values, strict=True)):
            self.demand(pair, self.totals.get((node, index), _NOTHING))

    def demand(self, nodes: Sequence[Node], guards: Guards) -> None:
        for node in nodes:
            known = self.found.get(node)
            self.found[node] = guards if known is None else known & guards


def _of_all_lanes(guards: Guards) -> Guards:
    return frozenset([guard for guard in guards if guard.dtype.count == 1])
