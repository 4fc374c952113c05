"""Legal sequences of opts drawn at random: each is legal on what those before it left."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hypothesis import strategies as st

from compiler import Target, unflatten
from compiler.ir import AxisKind, Node
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
    Unroll,
    Upcast,
    buffers,
    choose,
    from_ast,
    iterations,
)

MOST_OPTS = 6
MOST_LANES = 64  # PoCL takes 15 s to build 2,000 statements
_AMOUNTS = (2, 3, 4, 5, 8, 16)
_CUTS = (Upcast, Unroll, Local, Group, GroupTop)
_PADS = (4, 8, 32)
_REQUIRED = unflatten({"schedule.heuristics": "none"})


@st.composite
def schedules(draw: st.DrawFn, ast: Node, target: Target, fewest: int = 0) -> tuple[Opt, ...]:
    """Up to MOST_OPTS opts for `ast` on `target`, and not below `fewest` while any is legal.

    Those that the target cannot do without come first and beside that.
    """
    kernel = from_ast(ast)
    for opt in choose(kernel, target, _REQUIRED):
        kernel = opt.apply(kernel)
    for _ in range(draw(st.integers(fewest, MOST_OPTS))):
        kinds = legal_opts(kernel, target)
        if not kinds:
            break
        options = kinds[draw(st.integers(0, len(kinds) - 1))]
        kernel = options[draw(st.integers(0, len(options) - 1))].apply(kernel)
    return kernel.applied


def legal_opts(kernel: Kernel, target: Target) -> list[list[Opt]]:
    """What may be applied next: a list for each kind of opt that has any."""
    found: dict[type[Opt], list[Opt]] = {}
    for opt in _all_opts(kernel):
        if opt.why_illegal(kernel, target) is None and _lanes(opt.apply(kernel)) <= MOST_LANES:
            found.setdefault(type(opt), []).append(opt)
    return list(found.values())


def _lanes(kernel: Kernel) -> int:
    """How many copies of its body a kernel has."""
    return iterations(kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL))


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


def count_opts(schedule: Iterable[Opt]) -> Counter[str]:
    """How often each kind of opt stands in a schedule."""
    return Counter(type(opt).__name__ for opt in schedule)
