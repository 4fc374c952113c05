"""The hook through which every compile can be watched, in every thread of the process.

Who wants to see every compile of a process before this module is there, as a start-up file does,
puts a module called `compiler_observers` into `sys.modules`; the callables of its `waiting` are the
first observers. An import hook would not do: others put theirs before it (pytest does).
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.ir import Node
from compiler.options import CompileOptions
from compiler.target import Target

if TYPE_CHECKING:
    from compiler.compiled import Compiled
    from compiler.kernel import Opt


@dataclass(frozen=True, slots=True)
class CompileStarted:
    """Sent before any work is done: a crash or an endless pass leaves at least this."""

    ast: Node
    target: Target
    options: CompileOptions
    opts: "tuple[Opt, ...] | None"


@dataclass(frozen=True, slots=True)
class CompileFinished:
    """The whole result of the compile `started`."""

    started: CompileStarted
    compiled: "Compiled"


@dataclass(frozen=True, slots=True)
class CompileFailed:
    """The compile `started` raised `error`, one line."""

    started: CompileStarted
    error: str


@dataclass(frozen=True, slots=True)
class CompileReused:
    """A question that was asked before in this process, answered from a cache of its answers."""

    ast: Node
    target: Target
    options: CompileOptions
    opts: "tuple[Opt, ...] | None"


CompileEvent = CompileStarted | CompileFinished | CompileFailed | CompileReused
Observer = Callable[[CompileEvent], None]

# Replaced whole, under the lock.
_observers: tuple[Observer, ...] = tuple(
    getattr(sys.modules.get("compiler_observers"), "waiting", ())
)
_lock = threading.Lock()


def subscribe(observer: Observer) -> None:
    """Call `observer` with every event from now on, in every thread of this process."""
    global _observers  # noqa: PLW0603  # the one process-wide registry, see the module docstring
    with _lock:
        _observers = (*_observers, observer)


def unsubscribe(observer: Observer) -> None:
    """Stop calling `observer`."""
    global _observers  # noqa: PLW0603  # the one process-wide registry, see the module docstring
    with _lock:
        _observers = tuple(other for other in _observers if other is not observer)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Call `observer` with every event of the block."""
    subscribe(observer)
    try:
        yield
    finally:
        unsubscribe(observer)


def is_observed() -> bool:
    """Whether anybody listens: events of what takes microseconds are not made for nobody."""
    return bool(_observers)


def notify(event: CompileEvent) -> None:
    """Tell every observer, in order; what one raises reaches the compile's caller."""
    for observer in _observers:
        observer(event)


@contextmanager
def batch() -> Iterator[None]:
    """Say that compiles of the block, in this thread, are answers to one request.

    An observer that has methods `begin_batch` and `end_batch` may put off until its end what would
    keep each compile waiting.
    """
    told = [observer for observer in _observers if hasattr(observer, "end_batch")]
    for observer in told:
        observer.begin_batch()  # type: ignore[attr-defined]  # callables that are more than that
    try:
        yield
    finally:
        for observer in told:
            observer.end_batch()
