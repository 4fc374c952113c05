"""Targets with tensor cores: sums of products go to the first core that may compute them."""

from collections.abc import Iterator, Sequence

from compiler.ir import AxisKind, Core
from compiler.kernel.cores import Use
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts import Local, Tc, Upcast
from compiler.kernel.tc_numbers import cores_of, request
from compiler.options import ANY_CORE, CoreMatching, CoreUse, ScheduleOptions
from compiler.target import Target

_USES = {CoreUse.REAL: Use.REAL, CoreUse.SHAPE: Use.SHAPE, CoreUse.EMULATED: Use.EMULATED}
_LAST_CHOICE = 0  # of columns, rows and terms: the innermost axes
_UPCASTS = (5, 4, 3, 2)
_LOCALS = (4, 2)


def tensor_core(draft: Draft) -> Draft:
    """TC, then several of its tiles for each warp, so that a fragment is used more than once."""
    for core, opt in core_requests(draft.kernel, draft.target, draft.options):
        if isinstance(opt, str):
            continue  # why not
        after = draft.attempt(opt)
        if after is not None:
            return after if _fills_registers(draft, core) else _more_tiles(after, opt)
    return draft


def core_requests(
    kernel: Kernel, target: Target, options: ScheduleOptions
) -> Iterator[tuple[Core, Tc | str]]:
    """Each core that the target has, with the TC to try, or why there is none."""
    use = _USES.get(options.core_use)
    matching = tuple(CoreMatching).index(options.core_matching)
    for place, core in enumerate(cores_of(target, use or Use.REAL)):
        if use is None:
            yield core, f"the option schedule.core_use is {options.core_use.value}"
        elif options.core not in (ANY_CORE, core.name):
            yield core, f"the option schedule.core is {options.core}"
        elif options.core == ANY_CORE and core.sees is not None:  # it gives other results
            yield core, f"it sees {core.sees} bits of an operand, ask for it by schedule.core"
        else:
            numbers = (_LAST_CHOICE, place, matching, use)
            found = request(kernel, target, numbers)
            yield core, found.removeprefix(f"{core.name}: ") if isinstance(found, str) else found


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
