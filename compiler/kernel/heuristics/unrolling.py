"""Short reduce axes are unrolled whole, longer ones by 4.

Targets without work-groups have compilers that unroll: there it is done only for masks.
"""

from math import prod

from compiler.ir import AxisKind
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.opts import Unroll

_WHOLE, _SHORT, _TINY, _PART = 32, 7, 3, 4
_FEW_UPCASTS = 4


def unrolling(draft: Draft) -> Draft:
    """UNROLL the innermost reduce axis, and a tiny one around a tiny one, up to max_unrolled."""
    if not draft.has_work_groups:
        return _masked_terms(draft)
    if not draft.loops(AxisKind.REDUCE) or not _has_room(draft):
        return draft
    inner = draft.loops(AxisKind.REDUCE)[-1]
    size = size_of(inner)
    if size > _WHOLE:
        return draft.or_else(Unroll(inner.name, _PART))
    draft = draft.or_else(Unroll(inner.name, size))
    outer = draft.loops(AxisKind.REDUCE)
    if size <= _TINY and outer and size_of(outer[-1]) <= _TINY:
        draft = draft.or_else(Unroll(outer[-1].name, size_of(outer[-1])))
    return draft


def _masked_terms(draft: Draft) -> Draft:
    """UNROLL a short innermost reduce axis that masks an access: some conditions fall away."""
    axes = draft.loops(AxisKind.REDUCE)
    if draft.kernel.staged:
        return draft  # its masks are in the loops that fill the panel
    if not axes or not any(axes[-1].origin in access.masked for access in draft.accesses):
        return draft
    size = size_of(axes[-1])
    if size > _SHORT or draft.statements() * size > draft.options.max_unrolled:
        return draft
    return draft.or_else(Unroll(axes[-1].name, size))


def _has_room(draft: Draft) -> bool:
    total = draft.upcasts()
    unrolled = prod([size_of(axis) for axis in draft.loops(AxisKind.UNROLL)])
    return total < draft.options.max_unrolled and (total <= _FEW_UPCASTS or unrolled == 1)
