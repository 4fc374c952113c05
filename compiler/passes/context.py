"""What every pass is and gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from compiler.ir import Node, Op, Order, Spec, print_node, renamed, toposort
from compiler.options import CompileOptions
from compiler.rules import Builder
from compiler.target import Target

_INIT, _PROGRAM = Op.INIT, Op.PROGRAM


@dataclass(frozen=True, slots=True)
class Context:
    """The compile that a pass works for."""

    target: Target
    options: CompileOptions
    builder: Builder
    orders: dict[Node, Order] = field(default_factory=dict)  # memo of `order`
    checked: set[Node] = field(default_factory=set)  # memo of `verify`

    def order(self, root: Node) -> Order:
        """Every node under `root`, sources first, walked once for all who ask.

        It is toposort(root), but of a PROGRAM, which is in order as it is.
        """
        found = self.orders.get(root)
        if found is None:
            found = _of_program(root) if root.op is _PROGRAM else toposort(root)
            self.orders[root] = found
        return found

    def renamed(self, order: Order, mapping: Mapping[Node, Node]) -> Node:
        """The graph of `order` with other leaves, see `compiler.ir.renamed`."""
        after = renamed(order, mapping)
        self.orders[after[-1]] = after
        return after[-1]


def _of_program(program: Node) -> Order:
    """The accumulators, which are no instructions, the instructions, and the PROGRAM."""
    accs = dict.fromkeys([node.src[0] for node in program.src if node.op is _INIT])
    return Order([*accs, *program.src, program])


Run: TypeAlias = Callable[[Node, Context], Node]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step of the pipeline: `run` takes a graph in `accepts` and returns one in `yields`."""

    name: str
    run: Run
    accepts: Spec
    yields: Spec


@dataclass(frozen=True, slots=True)
class Stage:
    """The graph after the pass `name`."""

    name: str
    node: Node

    def text(self) -> str:
        return print_node(self.node)

    def digest(self) -> str:
        """The sha256 of the text. Computed on demand: most compiles are never asked."""
        return sha256(self.text().encode()).hexdigest()
