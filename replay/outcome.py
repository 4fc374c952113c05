"""What replay says of one record: exactly one outcome, and beside it what its numbers showed."""

from collections.abc import Mapping
from datetime import date
from enum import Enum

import msgspec

from replay.artefact import Artefact
from replay.interval import Timing

Number = int | float | None
Pair = tuple[Number, Number]
"""A metric of the old kernel and of the new one; None where it is not known."""


class Outcome(Enum):
    """In the order of reports: the worst first."""

    CRASH = "crash"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    UNREADABLE = "unreadable"
    ERROR = "error"
    NONDETERMINISTIC = "nondeterministic"
    MISSING = "missing"
    CODE = "code"
    OPTS = "opts"
    FIXED = "fixed"
    NEW = "new"
    SKIPPED = "skipped"
    RENAMED = "renamed"
    SAME = "same"

    __hash__ = object.__hash__  # Enum's own is Python's and called for every record; `is` is equal


class Numerics(Enum):
    """What running a kernel against the reference showed, the worst first."""

    WRONG = "wrong"
    UNFINISHED = "unfinished"  # it came to no end here, for want of time, memory or luck
    UNDECIDED = "undecided"  # a comparison or cast inside the error bound: no verdict possible
    SKIPPED = "skipped"
    BOUNDED = "bounded"
    EXACT = "exact"

    __hash__ = object.__hash__  # likewise


class Beside(Enum):
    """How the old kernel took part when the new one was run."""

    RUN = "run"  # on the same inputs, on the same device
    TEXT = "text"  # both are one program but for blanks and comments: one run stands for both

    __hash__ = object.__hash__  # likewise


class Facet(Enum):
    """A part of an artefact that is compared."""

    SOURCE = "source"
    OPTS = "opts"
    LAUNCH = "launch"
    ARGUMENTS = "arguments"
    ESTIMATES = "estimates"
    NAME = "name"


CHANGED = (Outcome.CODE, Outcome.OPTS, Outcome.RENAMED)
FAILED_RUNS = (Numerics.WRONG, Numerics.UNFINISHED)
"""Of runs that failed, with wrong numbers or before there were any: no approval covers them."""
NO_ANSWER = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.UNREADABLE, Outcome.ERROR)


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One record's line in a report. `old` and `new` are kept only where they differ."""

    key: str
    outcome: Outcome
    name: str = "?"
    target: str = "?"
    test_id: str | None = None
    reason: str | None = None
    facets: tuple[Facet, ...] = ()
    stage: str | None = None  # the first stage that differs
    log: str = ""  # traceback, or the last words of a worker
    numerics: Numerics | None = None
    numerics_reason: str | None = None
    digest: str | None = None  # of all that it wrote
    bits: str | None = None  # a question and opts to which all backends owe the same digest
    is_weak: bool = False  # no input could tell this kernel from one that does nothing
    beside: Beside | None = None  # how the old kernel took part in that; None: it did not
    machine_code: str | None = None  # "equal" or "differs", where the host could say
    old: Artefact | None = None
    new: Artefact | None = None
    cluster: int | None = None
    approval: str | None = None  # why a difference was approved
    lapsed: date | None = None  # the last day of an approval that ran out
    metrics: Mapping[str, Pair] = {}  # by name, of a kernel that differs
    elements: Mapping[str, int] = {}  # that it wrote: exact, bounded, undecided, or so far off
    of_bound: float | None = None  # the distance of the worst element in bounds, if it has one
    timing: Timing | None = None  # new beside old, where that was asked for
    ast: str | None = None  # of a kernel that differs
    code: bytes | None = None  # both assemblies where they differ, see replay/compare/assemblies.py
    excess: str | None = None  # by how much it exceeds what the policy lets a kernel grow

    @property
    def kind(self) -> str:
        """Outcome and numerics in one word each, as policies name them."""
        return kind_of(self.outcome, self.numerics)

    @property
    def explanation(self) -> str | None:
        """The reason, and that it had been approved until a day that is over."""
        if self.lapsed is None:
            return self.reason
        return f"{self.reason}; its approval ran out on {self.lapsed}"

    @property
    def is_beyond(self) -> bool:
        """Whether it grew too much, and nobody has approved this very difference."""
        return self.excess is not None and self.approval is None


def kind_of(outcome: Outcome, numerics: Numerics | None) -> str:
    """Outcome and numerics in one word each."""
    return outcome.value if numerics is None else f"{outcome.value}/{numerics.value}"
