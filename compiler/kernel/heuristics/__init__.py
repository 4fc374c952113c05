"""Default opts, by heuristics in order. To add one: write a function, list it in HEURISTICS."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compiler.ir import toposort
from compiler.kernel.accesses import accesses
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.heuristics.grouping import grouping
from compiler.kernel.heuristics.locals import locals_
from compiler.kernel.heuristics.matvec import matvec
from compiler.kernel.heuristics.pixels import read_pixels, written_pixels
from compiler.kernel.heuristics.rows import rows
from compiler.kernel.heuristics.staging import staging
from compiler.kernel.heuristics.tensor_core import core_requests, tensor_core
from compiler.kernel.heuristics.threads import threads
from compiler.kernel.heuristics.tiles import tile
from compiler.kernel.heuristics.unrolling import unrolling
from compiler.kernel.heuristics.upcasts import fallback, masked, reuse
from compiler.kernel.heuristics.vectors import transposition, vectorize
from compiler.kernel.kernel import Kernel, Opt
from compiler.options import CompileOptions, Heuristics, ScheduleOptions
from compiler.target import Target


@dataclass(frozen=True, slots=True)
class Heuristic:
    """A choice that may be made: `choose` returns the draft with more opts, or as it is."""

    choose: Callable[[Draft], Draft]
    is_last: bool = False  # where it chose something, nothing below it runs
    runs_after: bool = False  # but this


REQUIRED = (Heuristic(written_pixels),)  # with heuristics or without
HEURISTICS = (
    *REQUIRED,
    Heuristic(tensor_core, is_last=True),  # TC has to be the first opt
    Heuristic(matvec, is_last=True),
    Heuristic(grouping, is_last=True),
    Heuristic(read_pixels, runs_after=True),  # the terms that a work item has left, four by four
    Heuristic(rows),  # before all that would upcast one of their loops without the others
    Heuristic(tile),  # before all that would upcast its rows and columns otherwise
    Heuristic(staging),  # of what tile made
    Heuristic(vectorize),
    Heuristic(transposition),  # of what vectorize found no one axis for
    Heuristic(masked),
    Heuristic(reuse),
    Heuristic(unrolling),
    Heuristic(fallback),
    Heuristic(locals_),  # these last: they share out what the others leave
    Heuristic(threads),
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The opts that one heuristic added, by name."""

    heuristic: str
    opts: tuple[Opt, ...]


def choose(kernel: Kernel, target: Target, options: CompileOptions) -> tuple[Opt, ...]:
    """The opts for a kernel that has none; always legal, a function of the arguments alone.

    Raises IllegalOptError for an image that no opt lets the target write.
    """
    return scheduled(kernel, target, options).applied


def scheduled(kernel: Kernel, target: Target, options: CompileOptions) -> Kernel:
    """The kernel after the opts that `choose` chooses."""
    for _, chosen in _steps(kernel, target, options):
        kernel = chosen
    return kernel


def decisions(kernel: Kernel, target: Target, options: CompileOptions) -> tuple[Decision, ...]:
    """What each heuristic that `choose` asks says, in order."""
    found: list[Decision] = []
    known = len(kernel.applied)
    for heuristic, chosen in _steps(kernel, target, options):
        found.append(Decision(heuristic.choose.__name__.strip("_"), chosen.applied[known:]))
        known = len(chosen.applied)
    return tuple(found)


def _steps(
    kernel: Kernel, target: Target, options: CompileOptions
) -> Iterator[tuple[Heuristic, Kernel]]:
    """The kernel after each heuristic that is asked."""
    asked = REQUIRED if options.schedule.heuristics is Heuristics.NONE else HEURISTICS
    schedule = _fitted(options.schedule, target)
    draft = Draft(kernel, target, schedule, accesses(kernel), len(toposort(kernel.ast)))
    is_over = False
    for heuristic in asked:
        if is_over and not heuristic.runs_after:
            continue
        chosen = heuristic.choose(draft)
        yield heuristic, chosen.kernel
        is_over = is_over or (heuristic.is_last and chosen is not draft)
        draft = chosen


def _fitted(options: ScheduleOptions, target: Target) -> ScheduleOptions:
    """The options, with tiles no larger than the target's registers."""
    lanes = min(options.vector_lanes, target.capabilities.vector_widths[0])
    registers = min(options.tile_registers, target.capabilities.vector_registers)
    if (lanes, registers) == (options.vector_lanes, options.tile_registers):
        return options
    return replace(options, vector_lanes=lanes, tile_registers=registers)


__all__ = [
    "HEURISTICS", "REQUIRED", "Decision", "Heuristic", "choose", "core_requests", "decisions",
    "scheduled",
]  # fmt: skip
