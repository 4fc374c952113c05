"""A search by real timings, or what an earlier one found for the same question."""

import os
from collections.abc import Callable
from pathlib import Path

from compiler.backends import Program, open_device
from compiler.bench import Bench
from compiler.errors import DeviceError
from compiler.kernel import Kernel, Lowered, Opt, Searched, beam_search
from compiler.options import CompileOptions
from compiler.target import Target
from compiler.tuning.judging import ByTime
from compiler.tuning.memory import Memory, question_of

Lower = Callable[[tuple[Opt, ...]], Lowered[Program]]


def search_by_time(
    kernel: Kernel, target: Target, options: CompileOptions, lower: Lower, cache: Path | None
) -> Searched:
    """The fastest opts found on this machine. DeviceError where the target is not at hand."""
    device = open_device(target.backend)
    why = device.why_unlike(target)
    if why is not None:
        raise DeviceError(f"search: {why}, nothing can be timed; use search.cost=model")
    threads = len(os.sched_getaffinity(0))
    question = question_of(kernel.ast, target, options, device.toolchain(), threads)
    memory = None if cache is None else Memory(cache)
    known = None if memory is None else memory.recall(question, kernel, target)
    if known is not None:
        return known
    with Bench(kernel.ast, target, options.search.limit_s) as bench:
        found = beam_search(kernel, target, options, lower, ByTime(bench))
    if memory is not None:
        memory.keep(question, found)
    return found
