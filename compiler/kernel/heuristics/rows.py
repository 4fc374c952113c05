"""Targets without work-groups: kernels that reduce a row and then go along it again.

An output axis along which no REDUCE moves is a loop inside of one row: results of the row are
there when it begins. All loops along rows get the same lanes, and become vectors together.
"""

from compiler.ir import AxisKind, Op, free_axes, toposort
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, divisors, is_slow, size_of
from compiler.kernel.heuristics.vectors import CHAINS, lanes_of, score
from compiler.kernel.kernel import Kernel, reduces
from compiler.kernel.opts import Keep, Unroll, Upcast

_REDUCE = Op.REDUCE


def rows(draft: Draft) -> Draft:
    """UNROLL the sums of a row and UPCAST the loop along it by lanes, and UPCAST a few rows.

    The lanes of one loop do not multiply those of another, as no value has both. Slow functions
    that are summed and stored are computed once (KEEP).
    """
    if not draft.has_tiles or not _has_rows(draft.kernel):
        return draft
    along = inside_rows(draft.kernel)
    outputs = draft.loops(AxisKind.GLOBAL)
    outer = [axis for axis in outputs if axis.origin not in along]
    opts: list[tuple[type[Unroll | Upcast], str, int]] = [
        (Unroll, axis.name, lanes_of(draft, axis)) for axis in _terms(draft)
    ]
    for axis in [axis for axis in outputs if axis.origin in along][-1:]:
        opts.append((Upcast, axis.name, _divisor(axis, draft.options.vector_lanes)))
    lanes = max([amount for _, _, amount in opts], default=1)
    for axis in outer[-1:]:
        opts.append((Upcast, axis.name, _divisor(axis, CHAINS)))
        lanes *= _divisor(axis, CHAINS)
    if draft.is_too_large(lanes):
        return draft
    for term in _slow_terms(draft.kernel):
        draft = draft.or_else(Keep(term))
    for opt, name, amount in opts:
        draft = draft.legally(opt(name, amount)) if amount > 1 else draft
    return draft


def _has_rows(kernel: Kernel) -> bool:
    """Whether a REDUCE needs the result of another, or outputs lie along what one has reduced."""
    found = reduces(kernel)
    if len(found) > 1 and any(_REDUCE in {n.op for n in toposort(each.src[0])} for each in found):
        return True
    return bool(found) and bool(inside_rows(kernel))


def inside_rows(kernel: Kernel) -> frozenset[str]:
    """The output axes of the AST along which no REDUCE moves, where there are REDUCEs."""
    order = toposort(kernel.ast)
    free = free_axes(kernel.ast)
    moving = [free[node] for node in order if node.op is _REDUCE]
    if not moving:
        return frozenset()
    outputs = frozenset([axis.origin for axis in kernel.output_axes])
    return outputs.difference(*moving)


def _terms(draft: Draft) -> list[Axis]:
    """The loops of sums that lie side by side in memory."""
    return [axis for axis in draft.loops(AxisKind.REDUCE) if score(draft, axis) > 0]


def _slow_terms(kernel: Kernel) -> list[str]:
    """The axes that a REDUCE of slow functions closes alone."""
    found = [node for node in reduces(kernel) if len(node.attr[1]) == 1]
    return [each.attr[1][0] for each in found if is_slow(each.src[0])]


def _divisor(axis: Axis, most: int) -> int:
    return max(divisors(size_of(axis), most), default=1)
