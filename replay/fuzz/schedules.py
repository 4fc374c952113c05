"""Legal sequences of opts drawn at random: each is legal on what those before it left."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from hypothesis import strategies as st

from compiler import Target, unflatten
from compiler.ir import CORES, AxisKind, Node
from compiler.kernel import (
    Group,
    GroupTop,
    Keep,
    Kernel,
    Lds,
    Local,
    NoLocals,
    Opt,
    PadTo,
    Swap,
    Tc,
    Unroll,
    Upcast,
    buffers,
    choose,
    core_choices,
    from_ast,
    iterations,
)

MOST_OPTS = 6
MOST_LANES = 64  # PoCL takes 15 s to build 2,000 statements
_AMOUNTS = (2, 3, 4, 5, 8, 16)
_CUTS = (Upcast, Unroll, Local, Group, GroupTop)
_PADS = (4, 8, 32)
_PADDED, _USES = 2, (1, 2, 3)  # of TC
_REQUIRED = unflatten({"schedule.heuristics": "none"})


@st.composite
def schedules(
    draw: st.DrawFn,
    ast: Node,
    target: Target,
    fewest: int = 0,
    first: Callable[[Opt], bool] | None = None,
) -> tuple[Opt, ...]:
    """Up to MOST_OPTS opts for `ast` on `target`, and not below `fewest` while any is legal.

    Those that the target cannot do without come first and beside that; the next is one that `first`
    holds of, where such a one is legal.
    """
    kernel = from_ast(ast)
    for opt in choose(kernel, target, _REQUIRED):
        kernel = opt.apply(kernel)
    for _ in range(draw(st.integers(fewest, MOST_OPTS))):
        kinds = legal_opts(kernel, target)
        if not kinds:
            break
        if first is not None and not kernel.applied:
            wanted = [[opt for opt in kind if first(opt)] for kind in kinds]
            kinds = [kind for kind in wanted if kind] or kinds
        options = kinds[draw(st.integers(0, len(kinds) - 1))]
        kernel = options[draw(st.integers(0, len(options) - 1))].apply(kernel)
    return kernel.applied


def legal_opts(kernel: Kernel, target: Target) -> list[list[Opt]]:
    """What may be applied next: a list for each kind of opt that has any."""
    found: dict[type[Opt], list[Opt]] = {}
    for opt in _all_opts(kernel):
        if opt.why_illegal(kernel, target) is None and _is_small(opt.apply(kernel), target):
            found.setdefault(type(opt), []).append(opt)
    return list(found.values())


def _is_small(kernel: Kernel, target: Target) -> bool:
    """Whether a kernel has few copies of its body. What a tensor core does is no copy, and on LLVM
    one that is not there may be the whole of a kernel."""
    lanes = iterations(kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL))
    tile = kernel.tile
    if lanes <= MOST_LANES or tile is None or len(kernel.applied) > 1:
        return lanes <= MOST_LANES
    return tile.use == _USES[0] or not target.capabilities.has_local


def _all_opts(kernel: Kernel) -> Iterator[Opt]:
    for axis in kernel.axes:
        sizes = [axis.size] if isinstance(axis.size, int) and axis.size not in _AMOUNTS else []
        for kind in _CUTS:
            for amount in (*_AMOUNTS, *sizes):
                yield kind(axis.name, amount)
        for amount in _PADS:
            yield PadTo(axis.name, amount)
    outer = kernel.of_kind(AxisKind.GLOBAL)
    for index, axis in enumerate(outer):
        for other in outer[index + 1 :]:
            yield Swap(axis.name, other.name)
    yield NoLocals()
    yield from [Keep(axis.name) for axis in kernel.of_kind(AxisKind.REDUCE)]
    yield from [Lds(number) for number in range(len(buffers(kernel)))]
    if not kernel.applied:
        yield from _cores(kernel)


def _cores(kernel: Kernel) -> Iterator[Tc]:
    """Every core on every choice of axes, with padding where that is needed, real or not."""
    for core in CORES:
        found = core_choices(kernel, core, _PADDED)
        for choice in () if isinstance(found, str) else found:
            for use in _USES:
                yield Tc(core.name, choice.columns, choice.rows, choice.terms, _PADDED, use)


def count_opts(schedule: Iterable[Opt]) -> Counter[str]:
    """How often each kind of opt stands in a schedule."""
    return Counter(type(opt).__name__ for opt in schedule)
