"""Kernels: an AST, the loops that compute it, the opts that change them and the choice of opts."""

from compiler.kernel.axis import OUTPUT_KINDS, REDUCE_KINDS, Axis, Pad
from compiler.kernel.from_ast import from_ast
from compiler.kernel.kernel import Kernel, Opt, buffers, reduces, variables
from compiler.kernel.to_nodes import to_nodes

__all__ = [
    "OUTPUT_KINDS", "REDUCE_KINDS", "Axis", "Kernel", "Opt", "Pad", "buffers", "from_ast",
    "reduces", "to_nodes", "variables",
]  # fmt: skip
