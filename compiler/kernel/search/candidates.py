"""What a search may do to a kernel: every legal step, and where to start from."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from compiler.ir import CORES, AxisKind, toposort
from compiler.kernel.axis import Axis
from compiler.kernel.cores import CONVERTED, choices
from compiler.kernel.heuristics import choose
from compiler.kernel.kernel import Kernel, Opt, buffers, iterations
from compiler.kernel.opts import (
    Group,
    GroupTop,
    Keep,
    Lds,
    Local,
    NoLocals,
    PadTo,
    Swap,
    Tc,
    Unroll,
    Upcast,
)
from compiler.options import CompileOptions, ScheduleOptions
from compiler.target import Target

Step = tuple[Opt, ...]  # opts that make sense together, as PADTO before what it is for

MOST_COPIES = 512  # of a statement; the largest register tile of the heuristics has 384
_UPCASTS = (2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 32, 64, 128)
_UNROLLS = (2, 4, 7, 8, 16, 32)
_LOCALS = (2, 3, 4, 8, 16, 32, 64)
_GROUPS = (4, 8, 16, 32, 64, 256)
_PADS = (4, 8, 16, 32)
_OTHERS: tuple[Callable[[ScheduleOptions], ScheduleOptions], ...] = (  # of what heuristics are told
    lambda own: replace(own, tile_columns=32),
    lambda own: replace(own, tile_columns=16),
    lambda own: replace(own, tile_rows=4),
    lambda own: replace(own, vector_lanes=8),
    lambda own: replace(own, staged_rows=1 << 30),
    lambda own: replace(own, upcast_outputs=1 << 30),
    lambda own: replace(own, max_unrolled=8),
)


def starts(kernel: Kernel, target: Target, options: CompileOptions) -> tuple[Kernel, ...]:
    """Kernels to begin with: the heuristics' choice, all that leads to it, and choices of others.

    The heuristics' own is the first; all are legal and different.
    """
    chosen = choose(kernel, target, options)
    found = [_applied(kernel, chosen)]
    found += [_applied(kernel, chosen[:length]) for length in range(len(chosen))]
    for change in _OTHERS:
        other = replace(options, schedule=change(options.schedule))
        found.append(_applied(kernel, choose(kernel, target, other)))
    return tuple(dict.fromkeys(found))


def _applied(kernel: Kernel, opts: tuple[Opt, ...]) -> Kernel:
    for opt in opts:
        kernel = opt.apply(kernel)
    return kernel


def candidates(kernel: Kernel, target: Target, options: CompileOptions) -> Iterator[Kernel]:
    """Every kernel that is one legal step away, in an order that depends on the kernel alone."""
    nodes = len(toposort(kernel.ast))
    most = min(MOST_COPIES, max(1, options.schedule.max_nodes // 2 // nodes))
    for step in _steps(kernel, target):
        after = _if_legal(kernel, step, target)
        if after is not None and _copies(after) <= most:
            yield after


def _if_legal(kernel: Kernel, step: Step, target: Target) -> Kernel | None:
    for opt in step:
        if opt.why_illegal(kernel, target) is not None:
            return None
        kernel = opt.apply(kernel)
    return kernel


def _copies(kernel: Kernel) -> int:
    """How many copies of its body a kernel has, lanes counted one by one."""
    return iterations(kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL))


def _steps(kernel: Kernel, target: Target) -> Iterator[Step]:
    if not kernel.applied:
        yield from _cores(kernel, target)
    outputs, terms = kernel.of_kind(AxisKind.GLOBAL), kernel.of_kind(AxisKind.REDUCE)
    for axis in outputs:
        yield from [(Upcast(axis.name, amount),) for amount in _amounts(axis, _UPCASTS)]
        yield from _padded(axis)
    for axis in terms:
        yield from [(Unroll(axis.name, amount),) for amount in _amounts(axis, _UNROLLS)]
    for index, axis in enumerate(outputs):
        yield from [(Swap(axis.name, other.name),) for other in outputs[index + 1 :]]
    if target.capabilities.has_local:
        yield from _shared(outputs, terms)
    yield from [(Keep(axis.name),) for axis in terms]
    yield from [(Lds(slot),) for slot in range(len(buffers(kernel)))]


def _shared(outputs: tuple[Axis, ...], terms: tuple[Axis, ...]) -> Iterator[Step]:
    """Work-groups."""
    for axis in outputs:
        yield from [(Local(axis.name, amount),) for amount in _amounts(axis, _LOCALS)]
    for axis in terms:
        for amount in _amounts(axis, _GROUPS):
            yield (GroupTop(axis.name, amount),)
            yield (Group(axis.name, amount),)
    yield (NoLocals(),)


def _cores(kernel: Kernel, target: Target) -> Iterator[Step]:
    """The target's tensor cores, on every choice of axes."""
    for core in CORES:
        if core.name in target.capabilities.tensor_cores:
            found = choices(kernel, core, CONVERTED)
            for choice in [] if isinstance(found, str) else found:
                axes = (choice.columns, choice.rows, choice.terms)
                yield (Tc(core.name, *axes, matching=CONVERTED),)


def _amounts(axis: Axis, wanted: tuple[int, ...]) -> list[int]:
    """What divides the axis, itself included where it is no longer than the largest of these."""
    size = axis.size
    if not isinstance(size, int):
        return []
    whole = (size,) if size <= wanted[-1] else ()
    return sorted({amount for amount in (*wanted, *whole) if size % amount == 0 and amount > 1})


def _padded(axis: Axis) -> Iterator[Step]:
    if isinstance(axis.size, int):
        for amount in _PADS:
            if axis.size % amount and axis.size > amount // 2:
                yield (PadTo(axis.name, amount), Upcast(axis.name, amount))
