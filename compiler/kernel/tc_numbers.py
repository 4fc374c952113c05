"""TC by numbers, `TC axis select matching use`: the named opt for a kernel and a target."""

from compiler.ir import CORES, Core, find_core
from compiler.kernel.cores import PADDED, Choice, Use, choices
from compiler.kernel.kernel import Kernel
from compiler.kernel.opts import Tc
from compiler.target import Target

ANY_CORE = -1  # the first that may be used
Numbers = tuple[int | None, int | None, int | None, int | None]


def cores_of(target: Target, use: int) -> tuple[Core, ...]:
    """The cores that may be any: the target's, or all if it has none and none has to be there."""
    found = [find_core(name) for name in target.capabilities.tensor_cores]
    known = tuple([core for core in found if core is not None])
    return known if known or use == Use.REAL else CORES


def _counted(target: Target, use: int) -> tuple[Core, ...]:
    """The cores that have a number: those that may be any, then others that need no target."""
    first = cores_of(target, use)
    return first if use == Use.REAL else (*first, *[core for core in CORES if core not in first])


def request(kernel: Kernel, target: Target, numbers: Numbers) -> Tc | str:
    """The named opt: the first core, of those asked for, that is legal. Or why there is none.

    The number of an axis counts choices of columns, rows and terms from the last one.
    """
    axis, select, matching, use = numbers
    if any(not isinstance(n, int) or isinstance(n, bool) for n in numbers):
        return f"axis {axis}, core {select}, matching {matching} and use {use}, TC takes 4 numbers"
    assert axis is not None and select is not None, "they are ints"  # noqa: PT018  # for mypy
    assert matching is not None and use is not None, "they are ints"  # noqa: PT018  # for mypy
    if not 0 <= matching <= PADDED or not Use.REAL <= use <= Use.EMULATED:
        return f"matching {matching} and use {use}, use 0 to {PADDED} and 1 to 3"
    cores = _counted(target, use)
    if not ANY_CORE <= select < len(cores):
        where = f"{target.backend}/{target.profile}"
        return f"core {select}, {where} has {len(cores)} counted from 0, or {ANY_CORE} for any"
    reasons: list[str] = []
    for core in cores_of(target, use) if select == ANY_CORE else cores[select : select + 1]:
        found = _choice(kernel, core, axis, matching)
        named = found if isinstance(found, str) else _named(core, found, matching, use)
        reason = named if isinstance(named, str) else named.why_illegal(kernel, target)
        if reason is None:
            return named
        reasons.append(f"{core.name}: {reason}")
    return "; ".join(reasons) or f"{target.backend}/{target.profile} has no tensor core"


def _choice(kernel: Kernel, core: Core, axis: int, matching: int) -> Choice | str:
    found = choices(kernel, core, matching)
    if isinstance(found, str):
        return found
    if not 0 <= axis < len(found):
        return f"axis {axis}, there are {len(found)} choices of axes counted from 0"
    return found[-1 - axis]


def _named(core: Core, choice: Choice, matching: int, use: int) -> Tc:
    return Tc(core.name, choice.columns, choice.rows, choice.terms, matching, use)


def numbers_of(opt: Tc, kernel: Kernel, target: Target) -> tuple[int, int, int, int]:
    """The numbers of a legal opt."""
    names = [core.name for core in _counted(target, opt.use)]
    core = find_core(opt.core)
    assert core is not None, "the opt is legal"
    found = choices(kernel, core, opt.matching)
    assert not isinstance(found, str), "the opt is legal"
    place = found.index(Choice(opt.columns, opt.rows, opt.terms))
    return len(found) - 1 - place, names.index(opt.core), opt.matching, opt.use
