"""Counts launched kernels, for reports in which a result that nobody computed must show."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Launches:
    """Kernels launched so far in a block; owned by `counting_launches`."""

    count: int = 0


_current: ContextVar[Launches | None] = ContextVar("launches", default=None)


@contextmanager
def counting_launches() -> Iterator[Launches]:
    """Count the kernels that this thread launches inside the block; inner blocks count alone."""
    launches = Launches()
    token = _current.set(launches)
    try:
        yield launches
    finally:
        _current.reset(token)


def note_launch() -> None:
    """Called once for each kernel that runs."""
    launches = _current.get()
    if launches is not None:
        launches.count += 1
