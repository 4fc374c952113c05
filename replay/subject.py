"""The compiler under test, seen through one protocol. To add a subject: a line in SUBJECTS.

Nothing else in replay/ may know what a kernel means to a compiler. A subject is reached by import
in a worker process: this checkout's compiler, a copy of it in another directory, an older revision
of it, or a compiler of another kind.
"""

from enum import Enum
from typing import Protocol

import msgspec

from corpus import Argument, Estimates, KernelRecord, Launch, Opt

SUBJECTS: tuple[tuple[str, str], ...] = (
    # the `kind` of its records, the module that has `SUBJECT`
    ("kernel-replay", "replay.codec"),
)


class Detail(Enum):
    """How much a compile shall tell; more costs more."""

    OUTPUT = "output"
    STAGES = "stages"  # and the text of the kernel after every pass


class Artefact(msgspec.Struct, frozen=True, kw_only=True):
    """What a compiler answered to one question. `stages` pairs names with digests, or is empty."""

    name: str
    source: str
    applied: tuple[Opt, ...]
    launch: Launch | None
    arguments: tuple[Argument, ...]
    estimates: Estimates | None
    stages: tuple[tuple[str, str], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    rewrites: int | None = None


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
