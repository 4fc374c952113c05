"""Under which conditions a value matters: what is stored under a gate is not read elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir import ELEMENTWISE, Node, Op, Order, loop_parts

Guards = frozenset[Node]  # conditions that all hold; only asked and intersected
_NOTHING: Guards = frozenset()
_AND, _SPLAT, _WRITE, _RESULT, _LOOP = Op.AND, Op.SPLAT, Op.WRITE, Op.RESULT, Op.LOOP
_GATED = {Op.READ: 3, _WRITE: 4}  # sources, with a gate
_SHUFFLE = Op.SHUFFLE
_THROUGH = ELEMENTWISE | {Op.STACK, Op.SPLAT, Op.LANE, _SHUFFLE}


def conjuncts(gate: Node) -> Guards:
    """The conditions that all hold where `gate` does; one that all lanes share is a scalar."""
    if gate.op is _AND:
        return conjuncts(gate.src[0]) | conjuncts(gate.src[1])
    return conjuncts(gate.src[0]) if gate.op is _SPLAT else frozenset((gate,))


def find_guards(order: Order) -> Mapping[Node, Guards]:
    """For each value, conditions outside of which nothing depends on it.

    Empty where there is no gated WRITE, or no gated READ that could do without its gate.
    """
    for op, sources in _GATED.items():
        if not [node for node in order.of(op) if len(node.src) == sources]:
            return {}
    demands = _Demands({}, {})
    found, demand = demands.found, demands.demand
    for node in reversed(order):  # users first
        if node.op in _THROUGH:
            guards = found.get(node, _NOTHING)
            if guards and (node.op is _SHUFFLE or node.dtype.count != node.src[0].dtype.count):
                guards = _of_all_lanes(guards)
            demand(node.src, guards)
        elif node.src:
            demands.visit(node)
    return found


@dataclass(frozen=True, slots=True)
class _Demands:
    """What is known so far. An accumulator is read by its own total alone: pass reduce makes no
    others. So each total of a LOOP is judged by itself, by its RESULTs."""

    found: dict[Node, Guards]
    totals: dict[tuple[Node, int], Guards]

    def visit(self, node: Node) -> None:
        """Pass on to the sources of `node` what is known of its users."""
        if node.op is _WRITE:
            self.demand(node.src[2:3], conjuncts(node.src[3]) if len(node.src) == 4 else _NOTHING)
            self.demand((*node.src[:2], *node.src[3:]), _NOTHING)
        elif node.op is _RESULT:
            guards = self.found.get(node, _NOTHING)
            place = (node.src[0], node.attr[0])
            self.totals[place] = guards & self.totals.get(place, guards)
        elif node.op is _LOOP:
            self.loop(node)
        else:
            self.demand(node.src, _NOTHING)

    def loop(self, node: Node) -> None:
        ranges, inits, accs, values = loop_parts(node)
        self.demand((*ranges, *accs), _NOTHING)
        for index, pair in enumerate(zip(inits, values, strict=True)):
            self.demand(pair, self.totals.get((node, index), _NOTHING))

    def demand(self, nodes: Sequence[Node], guards: Guards) -> None:
        found = self.found
        for node in nodes:
            known = found.get(node)
            if known is not guards:
                found[node] = guards if known is None else known & guards


def _of_all_lanes(guards: Guards) -> Guards:
    return frozenset([guard for guard in guards if guard.dtype.count == 1])
