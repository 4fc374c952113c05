"""What a compile answers."""

from dataclasses import dataclass

from compiler.backends import Program
from compiler.ir import Node
from compiler.kernel import Opt
from compiler.options import CompileOptions
from compiler.passes import Stage
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Compiled:
    """One compile: the question (ast, target, options, requested opts) and all of the answer."""

    ast: Node
    target: Target
    options: CompileOptions
    requested: tuple[Opt, ...] | None
    applied: tuple[Opt, ...]
    program: Program
    stages: tuple[Stage, ...]
    rewrites: int  # rule applications: the cost of the compile, free of noise
