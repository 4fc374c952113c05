"""Targets with tensor cores: sums of products go to the first core that may compute them."""

from collections.abc import Iterator, Sequence

from compiler.ir import AxisKind, Core
from compiler.kernel.cores import Use
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.opts import Local, Tc, Upcast
from compiler.kernel.tc_numbers import cores_of, request
from compiler.options import ANY_CORE, CoreMatching, CoreUse

_USES = {CoreUse.REAL: Use.REAL, CoreUse.SHAPE: Use.SHAPE, CoreUse.EMULATED: Use.EMULATED}
_LAST_CHOICE = 0  # of columns, rows and terms: the innermost axes
_UPCASTS = (5, 4, 3, 2)
_LOCALS = (4, 2)


def tensor_core(draft: Draft) -> Draft:
    """TC, then several of its tiles for each warp, so that a fragment is used more than once."""
    use = _USES.get(draft.options.core_use)
    if use is None:
        return draft
    matching = tuple(CoreMatching).index(draft.options.core_matching)
    for place, core in _cores(draft, use):
        opt = request(draft.kernel, draft.target, (_LAST_CHOICE, place, matching, use))
        if isinstance(opt, str):
            continue  # why not
        after = draft.attempt(opt)
        if after is not None:
            return after if _fills_registers(draft, core) else _more_tiles(after, opt)
    return draft


def _cores(draft: Draft, use: Use) -> Iterator[tuple[int, Core]]:
    """The cores to try, each with its number. Of any, only those that see whole operands: one that
    cuts them short gives other results, and has to be asked for."""
    name = draft.options.core
    for place, core in enumerate(cores_of(draft.target, use)):
        if core.name == name or (name == ANY_CORE and core.sees is None):
            yield place, core


def _fills_registers(draft: Draft, core: Core) -> bool:
    """Whether a work item that is a whole warp has no room for the results of a second tile."""
    lanes = draft.options.tile_registers * draft.options.vector_lanes
    return core.items == 1 and 2 * core.c.count >= lanes


def _more_tiles(draft: Draft, opt: Tc) -> Draft:
    for name in (opt.rows, opt.columns):
        draft = _cut(draft, name, _UPCASTS, Upcast)
    return _cut(draft, opt.columns, _LOCALS, Local)


def _cut(
    draft: Draft, origin: str, amounts: Sequence[int], opt: type[Upcast] | type[Local]
) -> Draft:
    """Cut off the first amount that divides what is left of an axis."""
    axis = draft.rest_of(origin, AxisKind.GLOBAL)
    if axis is None or not isinstance(axis.size, int):
        return draft
    fitting = [amount for amount in amounts if axis.size % amount == 0]
    return draft.or_else(opt(axis.name, fitting[0])) if fitting else draft
