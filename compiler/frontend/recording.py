"""What a block of a program runs, noted while it runs: the launches, and the memory they touch."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from compiler.backends import Executable
from compiler.errors import JitError
from compiler.frontend.storage import Storage


@dataclass(frozen=True, slots=True)
class Launched:
    """One kernel that ran: it filled `outputs`."""

    executable: Executable
    outputs: tuple[Storage, ...]
    inputs: tuple[Storage, ...]


_launches: ContextVar[list[Launched] | None] = ContextVar("launches recorded", default=None)


@contextmanager
def recording() -> Iterator[list[Launched]]:
    """The list grows by every kernel that this thread runs inside the block."""
    found: list[Launched] = []
    token = _launches.set(found)
    try:
        yield found
    finally:
        _launches.reset(token)


def is_recording() -> bool:
    """Whether this thread is inside such a block."""
    return _launches.get() is not None


def note(executable: Executable, outputs: tuple[Storage, ...], inputs: tuple[Storage, ...]) -> None:
    """Called once for each kernel that has run."""
    found = _launches.get()
    if found is not None:
        found.append(Launched(executable, outputs, inputs))


def refuse_reading(what: str) -> None:
    """Elements on the host steer a program in ways that no replay can follow."""
    if is_recording():
        raise JitError(
            f"{what}: its elements are read while a program is recorded, replays would go on with "
            "these, return the tensor instead"
        )
