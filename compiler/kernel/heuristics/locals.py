"""The work-groups: which output axes are shared out to work items, and by how many."""

from compiler.ir import AxisKind
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.opts import Local, NoLocals

_AMOUNTS = (16, 8, 4, 3, 2)
_MOST_AXES = 3


def locals_(draft: Draft) -> Draft:
    """LOCAL up to three axes, those along which a buffer repeats first; or NOLOCALS by option."""
    if not draft.has_work_groups:
        return draft
    if not draft.options.locals:
        return draft.or_else(NoLocals())
    wave = draft.target.capabilities.wave
    total, chosen = 1, list[tuple[int, Axis, int]]()
    loops = draft.loops(AxisKind.GLOBAL)
    outputs = draft.kernel.of_kind(AxisKind.GLOBAL)
    for place, axis in sorted(enumerate(outputs), key=lambda pair: _rank(draft, *pair)):
        amounts = (wave, *_AMOUNTS) if place == 0 else _AMOUNTS
        for amount in amounts if axis in loops else ():
            if size_of(axis) % amount == 0 and total * amount <= draft.options.group_items:
                total *= amount
                chosen.append((place, axis, amount))
                break
    for _, axis, amount in sorted(chosen[:_MOST_AXES], key=lambda entry: entry[0]):
        draft = draft.or_else(Local(axis.name, amount))
    return draft


def _rank(draft: Draft, place: int, axis: Axis) -> tuple[bool, int]:
    """Axes along which a buffer repeats first (their work items share it), then inner ones."""
    repeats = any(draft.stride(access, axis) == 0 for access in draft.accesses)
    return (not repeats, -place)
