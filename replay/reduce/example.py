"""What is made smaller: a question, in values of the compiler."""

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.ir import FLOAT32, INT32, Node, Op, print_node, toposort
from compiler.kernel import Opt, format_opts
from corpus import Scalar
from replay.reduce.signature import Question


@dataclass(frozen=True, slots=True)
class Example:
    """An AST for a target, under options and opts; without opts the compiler chooses."""

    ast: Node
    target: str
    options: Mapping[str, Scalar]
    opts: tuple[Opt, ...] | None

    @property
    def question(self) -> Question:
        opts = None if self.opts is None else format_opts(self.opts)
        return Question(print_node(self.ast), self.target, dict(self.options), opts)

    @property
    def size(self) -> tuple[int, int, int, int]:
        """What has to become smaller with each step: things to read, iterations, odd types."""
        order = toposort(self.ast)
        things = len(order) + len(self.opts or ()) + len(self.options)
        iterations = 1
        for _, size in self.ast.attr[0]:
            iterations *= size if isinstance(size, int) else 1 << 20
        odd = [node for node in order if node.dtype not in (FLOAT32, INT32)]
        buffers = sum(
            [n.attr[1] for n in order if n.op is Op.BUFFER and isinstance(n.attr[1], int)]
        )
        return things, iterations, len(odd), len(print_node(self.ast)) + buffers
