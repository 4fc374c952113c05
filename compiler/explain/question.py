"""What shall be explained."""

from dataclasses import dataclass

from compiler.ir import Node
from compiler.kernel import Opt
from compiler.options import DEFAULT, CompileOptions
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Question:
    """One compile, and how much of it to show. Without `opts` the heuristics choose."""

    ast: Node
    target: Target
    options: CompileOptions = DEFAULT
    opts: tuple[Opt, ...] | None = None
    rewrite_limit: int | None = None
    traces: bool = False  # every application of a rule, not only how many of each
