"""Which opts a kernel of too many nodes is due to."""

from collections.abc import Iterable

from compiler.ir import find_core
from compiler.kernel.kernel import Opt
from compiler.kernel.opts import Tc, Unroll, Upcast

_NAMED = 3


def largest_lanes(opts: Iterable[Opt]) -> tuple[Opt, ...]:
    """Those of `opts` that make the most lanes, the largest first."""
    made = [opt for opt in opts if _lanes(opt) > 1]
    return tuple(sorted(made, key=lambda opt: -_lanes(opt))[:_NAMED])


def _lanes(opt: Opt) -> int:
    """How many copies of a node an opt may make, in one work item."""
    if isinstance(opt, Upcast | Unroll):
        return opt.amount
    core = find_core(opt.core) if isinstance(opt, Tc) else None
    return 1 if core is None else core.size("k") << len(core.c.elements)
