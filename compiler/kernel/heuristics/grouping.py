"""Few outputs with long sums, on targets with work-groups: the sum is shared by work items."""

from compiler.ir import AxisKind
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.heuristics.pixels import writes_pixels
from compiler.kernel.opts import GroupTop

_MOST_OUTPUT_AXES = 2
_FEW_OUTPUTS = 32  # with fewer, only wide groups keep the device busy
_WIDE, _NARROW = 256, 16


def grouping(draft: Draft) -> Draft:
    """GROUPTOP the outermost reduce axis by 256 or 16; nothing where that is illegal."""
    kernel = draft.kernel
    if not draft.has_local_memory or draft.has_symbolic_outputs() or writes_pixels(draft):
        return draft
    outputs, terms = draft.outputs_left(), kernel.of_kind(AxisKind.REDUCE)
    if outputs > draft.options.group_outputs or len(kernel.output_axes) > _MOST_OUTPUT_AXES:
        return draft
    for amount in (_WIDE, _NARROW) if outputs <= _FEW_OUTPUTS else (_NARROW,):
        if terms:
            chosen = draft.attempt(GroupTop(terms[0].name, amount))
            if chosen is not None:
                return chosen
    return draft
