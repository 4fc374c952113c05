"""Jobs for child processes, and what becomes of them: a bad one costs only itself.

What runs them is in dispatch.py, imported when there is a first job: most replays have none.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from replay.isolation.wire import Call, Done, OutOfMemory, Raised

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one job may use. While it has no core, or its machine is paused, no time is counted."""

    time_s: float = 30.0
    memory_bytes: int = 4 << 30
    # where the job is a compile, which takes milliseconds and some hundred megabytes; more would be
    # late before it is full, on a machine that takes long to hand out memory
    compile_s: float = 20.0
    compile_bytes: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Crew:
    """How workers are started. `environ` is their whole environment but for what each is given."""

    environ: Mapping[str, str]
    size: int = 1
    limits: Limits = Limits()
    paths: tuple[Path, ...] = ()  # where the compiler under test is, instead of this checkout
    imports: tuple[str, ...] = ("compiler.compile", "replay.codec")  # before time is taken
    subject: str | None = None  # module:object or file.py:object of a compiler of another kind
    warm_up: tuple[Call, ...] = ()  # likewise
    hash_seed: int = 0
    sandboxed: bool = True

    @property
    def compiling(self) -> "Crew":
        """The same, for jobs that compile and run nothing."""
        limits = self.limits
        time_s = min(limits.time_s, limits.compile_s)
        memory_bytes = min(limits.memory_bytes, limits.compile_bytes)
        return replace(self, limits=replace(limits, time_s=time_s, memory_bytes=memory_bytes))


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """One call, and what the caller wants to know it by."""

    tag: T
    call: Call


class Died(msgspec.Struct, frozen=True, tag="died"):
    """A worker that ended while it had the job, twice. `by_another`: no process does that to
    itself, so somebody, or the system for want of memory, did."""

    reason: str
    log: str
    by_another: bool = False


class TimedOut(msgspec.Struct, frozen=True, tag="timed out"):
    seconds: float


Reply = Done | Raised | Died | TimedOut | OutOfMemory


def cores() -> int:
    """How many workers this process may keep busy."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(jobs: Iterable[Job[T]], crew: Crew) -> Iterator[tuple[Job[T], Reply]]:
    """Run every job; yield each with its reply, as they come. Closing the iterator ends it all.

    After every reply an iterator that had no job is asked again, while a worker is held for it.
    """
    waiting = iter(jobs)
    for first in waiting:
        yield from import_module("replay.isolation.dispatch").dispatch(first, waiting, crew)
