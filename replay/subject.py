"""The compiler under test, seen through one protocol. To add a subject: a line in SUBJECTS.

Nothing else in replay/ may know what a kernel means to a compiler. A subject is reached by import
in a worker process: this checkout's compiler, a copy of it in another directory, an older revision
of it, or a compiler of another kind.
"""

from enum import Enum
from typing import Protocol

import msgspec

from corpus import KernelRecord, Opt
from replay.artefact import Artefact
from replay.outcome import Numerics

SUBJECTS: tuple[tuple[str, str, str], ...] = (
    # the `kind` of its records, the module that has `SUBJECT`, the one that has `CHECKER`
    ("kernel-replay", "replay.codec", "replay.checker"),
)


class Detail(Enum):
    """How much a compile shall tell; more costs more."""

    OUTPUT = "output"
    STAGES = "stages"  # and the text of the kernel after every pass


class Where(Enum):
    """What was being done when a compiler said no."""

    READING = "reading"  # the record's text is not in the grammar
    NAMING = "naming"  # an op, opt, option or target that this compiler does not have
    COMPILING = "compiling"


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A compiler that says no, on purpose, in one line."""

    where: Where
    error: str


class RefusedError(Exception):
    """Carries `Refused` out of a subject."""

    def __init__(self, where: Where, error: str) -> None:
        super().__init__(error)
        self.where = where
        self.error = error


class Subject(Protocol):
    """Raises RefusedError for what the compiler refuses; anything else is its bug."""

    def check(self, record: KernelRecord) -> None:
        """Raise RefusedError if the record's question cannot be decoded."""

    def compile(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, detail: Detail
    ) -> Artefact:
        """Compile the record's question under `opts`; where they are None, under its own choice."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What running a kernel showed. `digest` names all that it wrote, on inputs that depend only on
    the question: two backends with equal digests gave the same bits."""

    numerics: Numerics
    reason: str | None = None
    weak: str | None = None
    digest: str | None = None
    machine_code: str | None = None  # "equal" or "differs" from the old kernel's, where known


class Checker(Protocol):
    """Runs kernels. Apart from Subject, as it needs devices, inputs and a reference."""

    def check(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, old: Artefact | None
    ) -> Checked:
        """Compile under `opts`, run beside `old` if given, and judge both by the reference."""
