"""What a block of a program runs, noted while it runs: the launches, and the memory they touch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from compiler.backends import Executable
from compiler.errors import JitError
from compiler.frontend.graph import Value
from compiler.frontend.storage import Storage
from compiler.frontend.symbolic import formula_of
from compiler.ir import Size


@dataclass(frozen=True, slots=True)
class Launched:
    """One kernel that ran: it filled `outputs`. `sizes` are those of outputs and inputs."""

    executable: Executable
    outputs: tuple[Storage, ...]
    inputs: tuple[Storage, ...]
    sizes: tuple[Size, ...]
    variables: Mapping[str, int]


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


def note(
    executable: Executable,
    outputs: tuple[Storage, ...],
    inputs: tuple[Storage, ...],
    values: Sequence[Value],
    variables: Mapping[str, int],
) -> None:
    """Called once for each kernel that has run. `values` are what its buffers hold."""
    found = _launches.get()
    if found is not None:
        sizes = tuple([formula_of(value.size) for value in values])
        found.append(Launched(executable, outputs, inputs, sizes, variables))


def refuse_reading(what: str) -> None:
    """Elements on the host steer a program in ways that no replay can follow."""
    if is_recording():
        raise JitError(
            f"{what}: its elements are read while a program is recorded, replays would go on with "
            "these, return the tensor instead"
        )
