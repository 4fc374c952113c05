"""Targets that cut the outermost loop into threads: it should have iterations for all of them."""

from compiler.ir import AxisKind
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.heuristics.rows import inside_rows
from compiler.kernel.opts import Swap


def threads(draft: Draft) -> Draft:
    """SWAP a short outermost loop with the first that is long enough."""
    axes = draft.kernel.of_kind(AxisKind.GLOBAL)
    if not draft.target.capabilities.has_threads or draft.loops(AxisKind.GLOBAL) != list(axes):
        return draft
    if draft.kernel.staged:
        return draft  # its loops are in the order in which panels are filled least often
    fewest = draft.options.threaded
    if not axes or size_of(axes[0]) >= fewest:
        return draft
    along = inside_rows(draft.kernel)  # outside, a row would be reduced for each of its places
    longer = [axis for axis in axes if size_of(axis) >= fewest and axis.origin not in along]
    return draft.or_else(Swap(axes[0].name, longer[0].name)) if longer else draft
