"""What becomes of a record when its question is asked again: pure decisions on stored values.

Each takes the value that is there (None where there is none) and gives what happened, with the
value to store (None to leave what is there). The first whole answer is the baseline: it stays until
someone replaces it on purpose.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from corpus.encoding import MAX_OCCURRENCES, Value, decode_record, seal, unseal
from corpus.errors import SelectionError, UnreadableError
from corpus.record import KernelRecord, Status


class Added(Enum):
    """What became of a record that was given to a writer."""

    NEW = "new"
    COUNTED = "counted"
    COMPLETED = "completed"
    KEPT = "kept"
    REPLACED = "replaced"


class Side(Enum):
    """Whose answer stays where two corpora answer one question differently."""

    OURS = "ours"
    THEIRS = "theirs"


class Decision(NamedTuple):
    added: Added
    value: bytes | None
    differing: tuple[str, ...] = ()


def ask(key: str, old: bytes | None, new: bytes) -> Decision:
    """A question was asked, and perhaps answered: its count goes up."""
    if old is None:
        return Decision(Added.NEW, new)
    counted = _counted(key, old, unseal(key, new).occurrences)
    if _is_started(key, old) and not _is_started(key, new):
        return Decision(Added.COMPLETED, _with_count_of(key, counted, new))
    return Decision(Added.COUNTED, counted)


def complete(key: str, old: bytes | None, new: bytes) -> Decision:
    """A question that was counted when it was asked has been answered."""
    if old is None:
        return Decision(Added.NEW, new)
    if not _is_started(key, old):
        return Decision(Added.KEPT, None)
    return Decision(Added.COMPLETED, _with_count_of(key, old, new))


def count(key: str, old: bytes | None, times: int) -> Decision:
    """A question was asked again, and answered from a cache."""
    if old is None:
        raise SelectionError(f"record {key[:12]}: not in the corpus; add it before counting it")
    return Decision(Added.COUNTED, _counted(key, old, times))


def merge(key: str, old: bytes | None, new: bytes, prefer: Side) -> Decision:
    """Two corpora meet in one key. Equal answers count together, of others one stays."""
    if old is None:
        return Decision(Added.NEW, new)
    if old == new:
        return Decision(Added.KEPT, None)
    try:
        ours = decode_record(key, old)
    except UnreadableError:
        return Decision(Added.REPLACED, new)
    theirs = decode_record(key, new)
    total = _counted(key, old, theirs.provenance.occurrences)
    if ours.status is Status.STARTED and theirs.status is not Status.STARTED:
        return Decision(Added.COMPLETED, _with_count_of(key, total, new))
    differing = () if theirs.status is Status.STARTED else differing_fields(ours, theirs)
    if differing == ("numerics",) and ours.numerics is None:
        return Decision(Added.COMPLETED, _with_count_of(key, total, new))
    if differing and prefer is Side.THEIRS:
        return Decision(Added.REPLACED, new, differing)
    return Decision(Added.KEPT, None, differing) if differing else Decision(Added.COUNTED, total)


def differing_fields(one: KernelRecord, other: KernelRecord) -> tuple[str, ...]:
    """Name the fields in which two records differ, provenance aside."""
    return tuple(
        name
        for name in KernelRecord.__struct_fields__
        if name != "provenance" and getattr(one, name) != getattr(other, name)
    )


def _is_started(key: str, value: bytes) -> bool:
    return decode_record(key, value).status is Status.STARTED


def _counted(key: str, value: bytes, times: int) -> bytes:
    occurrences, body = unseal(key, value)
    return seal(key, Value(min(occurrences + times, MAX_OCCURRENCES), body))


def _with_count_of(key: str, counted: bytes, value: bytes) -> bytes:
    return seal(key, Value(unseal(key, counted).occurrences, unseal(key, value).body))
