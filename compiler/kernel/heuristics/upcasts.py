"""Output axes that are upcast: short masked ones, and for reuse on targets without tiles."""

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.opts import Upcast

_MASKED_SIZE, _MASKED_UPCASTS = 7, 49
_FALLBACK = 4


def masked(draft: Draft) -> Draft:
    """UPCAST short axes that decide whether an access is valid: the conditions become constants."""
    total = 1
    for axis in reversed(draft.loops(AxisKind.GLOBAL)):
        size = size_of(axis)
        is_masked = any(axis.origin in access.masked for access in draft.accesses)
        is_small = size <= _MASKED_SIZE and total * size <= _MASKED_UPCASTS
        if is_masked and is_small and draft.statements() * size <= draft.options.max_unrolled:
            chosen = draft.attempt(Upcast(axis.name, size))
            if chosen is not None:
                draft, total = chosen, total * size
    return draft


def reuse(draft: Draft) -> Draft:
    """UPCAST axes along which some buffer repeats, cheapest strides first, while there is work.

    One is enough for vectors that take it whole: on targets without work-groups.
    """
    amounts = draft.target.capabilities.merged_upcasts
    if not amounts or (draft.has_lanes and not draft.has_work_groups):
        return draft
    done: set[str] = set()  # only asked
    while draft.outputs_left() >= draft.options.upcast_outputs:
        ranked = [
            (_cost(draft, axis), place, amount, axis)
            for place, axis in enumerate(draft.kernel.of_kind(AxisKind.GLOBAL))
            for amount in amounts
            if axis in draft.loops(AxisKind.GLOBAL) and axis.origin not in done
            if size_of(axis) % amount == 0 and _repeats_anew(draft, axis)
        ]
        if not ranked:
            break
        _, _, amount, axis = min(ranked, key=lambda entry: entry[:3])
        done.add(axis.origin)
        draft = draft.or_else(Upcast(axis.name, amount))
        if draft.has_lanes and not draft.has_work_groups:
            break
    return draft


def _repeats_anew(draft: Draft, axis: Axis) -> bool:
    """Whether some access repeats along the axis and along no upcast so far."""
    lanes = draft.kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL)
    return any(
        draft.stride(access, axis) == 0 and all(draft.stride(access, lane) != 0 for lane in lanes)
        for access in draft.accesses
    )


def _cost(draft: Draft, axis: Axis) -> tuple[int, int]:
    """How many accesses move along the axis, and how far; an unknown stride is a far one."""
    strides = [_known(draft, access, axis) for access in draft.accesses]
    return sum([stride > 0 for stride in strides]), sum(strides)


def _known(draft: Draft, access: Access, axis: Axis) -> int:
    stride = draft.stride(access, axis)
    return 1 << 32 if stride is None else stride


def fallback(draft: Draft) -> Draft:
    """UPCAST the innermost output axis where nothing has been upcast: by a vector, or by 4."""
    axes = draft.loops(AxisKind.GLOBAL)
    if draft.has_tiles or draft.has_lanes or not axes:
        return draft
    wide = () if draft.has_work_groups else draft.target.capabilities.merged_upcasts
    chosen = [draft.attempt(Upcast(axes[-1].name, amount)) for amount in (*wide, _FALLBACK)]
    return next((each for each in chosen if each is not None), draft)
