"""Timing several calls against each other."""

import os
import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]
MOST_RUNS = 2000  # in one turn


def clock_of_this_process() -> Clock:
    """Wall clock; on one core the CPU's, which other programs on a busy machine leave alone."""
    return time.process_time if len(os.sched_getaffinity(0)) == 1 else time.perf_counter


def least_seconds(
    runs: Sequence[Callable[[int], None]], turns: int, least_s: float, clock: Clock
) -> list[float]:
    """For each of `runs`, which take how often, the seconds of one run in its fastest turn.

    In each turn everything runs once, as often as fills `least_s`. Every other turn goes backwards:
    each finds the caches as its neighbours leave them, and none of them always has the same one.
    """
    counts = [_count(run, least_s, clock) for run in runs]
    best = [float("inf")] * len(runs)
    places = list(range(len(runs)))
    for _ in range(turns):
        for place in places:
            started = clock()
            runs[place](counts[place])
            best[place] = min(best[place], (clock() - started) / counts[place])
        places.reverse()
    return best


def _count(run: Callable[[int], None], least_s: float, clock: Clock) -> int:
    """How many runs fill that time, by the second run: the first is for caches and page tables."""
    run(1)
    started = clock()
    run(1)
    once = max(clock() - started, 1e-9)
    return max(1, min(MOST_RUNS, round(least_s / once)))
