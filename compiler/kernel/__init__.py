"""Kernels: an AST, the loops that compute it, the opts that change them and the choice of opts."""

from compiler.kernel.accesses import Access, accesses
from compiler.kernel.apply import apply_all
from compiler.kernel.axis import OUTPUT_KINDS, REDUCE_KINDS, Axis, Pad
from compiler.kernel.blame import largest_lanes
from compiler.kernel.colours import COLOURS, Role, coloured_shape, role_of, visible_length
from compiler.kernel.cores import choices as core_choices
from compiler.kernel.from_ast import from_ast
from compiler.kernel.heuristics import (
    HEURISTICS,
    Decision,
    choose,
    core_requests,
    decisions,
    scheduled,
)
from compiler.kernel.kernel import Kernel, Opt, buffers, iterations, reduces, variables
from compiler.kernel.naming import kernel_name
from compiler.kernel.opts import (
    OPTS,
    Group,
    GroupTop,
    Keep,
    Lds,
    Local,
    NoLocals,
    PadTo,
    Swap,
    Tc,
    Unroll,
    Upcast,
)
from compiler.kernel.pixels import why_partial
from compiler.kernel.positional import Positional, resolve, to_positional
from compiler.kernel.search import (
    Finalist,
    Judge,
    Lowered,
    Searched,
    beam_search,
    candidates,
    cycles,
    starts,
)
from compiler.kernel.spelling import format_opt, format_opts, parse_opt, parse_opts
from compiler.kernel.to_nodes import to_nodes

__all__ = [
    "COLOURS", "HEURISTICS", "OPTS", "OUTPUT_KINDS", "REDUCE_KINDS", "Access", "Axis", "Decision",
    "Finalist", "Group", "GroupTop", "Judge", "Keep", "Kernel", "Lds", "Local", "Lowered",
    "NoLocals", "Opt", "Pad", "PadTo", "Positional", "Role", "Searched", "Swap", "Tc", "Unroll",
    "Upcast", "accesses", "apply_all", "beam_search", "buffers", "candidates", "choose",
    "coloured_shape", "core_choices", "core_requests", "cycles", "decisions", "format_opt",
    "format_opts", "from_ast", "iterations", "kernel_name", "largest_lanes", "parse_opt",
    "parse_opts", "reduces", "resolve", "role_of", "scheduled", "starts", "to_nodes",
    "to_positional", "variables", "visible_length", "why_partial",
]  # fmt: skip
