"""Every op in terms of ops on which all targets agree, while nodes are still scalar."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir import Node, Op, toposort
from compiler.options import Transcendental
from compiler.passes.context import Context
from compiler.rules import DECOMPOSITIONS, FUNCTIONS, LOWERINGS, Builder, Lowering, lower

_NO_FUNCTIONS: Mapping[Op, Lowering] = {}


def decompose(root: Node, context: Context) -> Node:
    """Every op by its lowering; functions by their decomposition unless the platform has them."""
    is_portable = context.options.math.transcendental is Transcendental.PORTABLE
    functions = DECOMPOSITIONS if is_portable else _NO_FUNCTIONS
    return Decomposition(context.builder, functions).lower(root)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """One run of the pass; `done` belongs to it alone: node -> what it has become."""

    builder: Builder
    functions: Mapping[Op, Lowering]
    done: dict[Node, Node] = field(default_factory=dict)

    def lower(self, root: Node) -> Node:
        """`root` in simpler ops."""
        done = self.done
        for node in toposort(root):
            if node in done:
                continue
            src = tuple(map(done.__getitem__, node.src))
            after = node
            if src != node.src:
                after = self.builder.build(node.op, node.dtype, src, node.attr)
            if after.op in LOWERINGS:
                is_function = after.op in FUNCTIONS
                after = self.function(after) if is_function else lower(self.builder, after)
            done[node] = after
        return done[root]

    def function(self, node: Node) -> Node:
        """EXP2, SIN, ...: what it decomposes into may contain any op, and is lowered again."""
        after = lower(self.builder, node)  # a 16-bit one as float32
        if after is node and node.op in self.functions:
            after = self.functions[node.op](self.builder, node)
        if after is node:
            return node
        self.done.update({child: child for child in node.src})
        return self.lower(after)
