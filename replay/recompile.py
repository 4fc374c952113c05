"""One record compiled again, in a worker. Bytes in, bytes out."""

import importlib
from enum import Enum
from functools import cache

import msgspec

from corpus import KernelRecord, Opt
from replay.artefact import Artefact
from replay.isolation.wire import Call
from replay.subject import (
    SUBJECTS,
    Checker,
    Detail,
    Refused,
    RefusedError,
    Subject,
    Where,
    load_subject,
)


class Mode(Enum):
    """Whose opts a kernel is compiled with."""

    PINNED = "pinned"  # those it had: only lowering and rendering can differ
    FREE = "free"  # those the caller fixed, or none: the choice can differ as well


class Request(msgspec.Struct, frozen=True):
    """What a worker is asked."""

    record: KernelRecord
    mode: Mode
    detail: Detail


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """`pinned` is there when the choice of opts differed: the artefact under the recorded ones."""

    artefact: Artefact
    pinned: Artefact | None = None


_named: dict[str, tuple[Subject, Checker]] = {}  # by kind; a worker fills it before its first job
_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_answer = msgspec.msgpack.Decoder(Answer | Refused).decode


def call(record: KernelRecord, mode: Mode, detail: Detail = Detail.OUTPUT) -> Call:
    """The job that compiles `record` again."""
    return Call("replay.recompile:recompile", _encode(Request(record, mode, detail)))


def start() -> Call:
    """The job that does nothing: a worker that takes it has imported the compiler."""
    return Call("replay.recompile:started", b"")


def started(payload: bytes) -> bytes:
    """Answer that a worker is there."""
    return payload


def read(payload: bytes) -> Answer | Refused:
    """What such a job answered."""
    return _decode_answer(payload)


def recompile(payload: bytes) -> bytes:
    """Compile the record of an encoded Request; give an encoded Answer or Refused."""
    request = _decode_request(payload)
    try:
        return _encode(_answer(request))
    except RefusedError as refusal:
        return _encode(Refused(refusal.where, refusal.error))
    except OverflowError as error:  # sizes beyond 64 bits, which no record holds
        return _encode(Refused(Where.COMPILING, f"its answer cannot be recorded: {error}"))


def _answer(request: Request) -> Answer:
    record, detail = request.record, request.detail
    subject = find_subject(record.kind)
    pinned = record.applied if record.applied is not None else record.requested
    if request.mode is Mode.PINNED:
        return Answer(subject.compile(record, pinned, detail))
    free = subject.compile(record, record.requested, detail)
    if record.applied is None or free.applied == record.applied:
        return Answer(free)
    return Answer(free, _compiled_if_possible(subject, record, pinned, detail))


def _compiled_if_possible(
    subject: Subject, record: KernelRecord, opts: tuple[Opt, ...] | None, detail: Detail
) -> Artefact | None:
    try:
        return subject.compile(record, opts, detail)
    except RefusedError:
        return None  # the recorded opts are illegal now: then it is not only the choice


def use_subject(name: str) -> None:
    """Let the compiler that `name` names take the records of its kind, in this process."""
    kind, subject, checker = load_subject(name)
    _named[kind] = (subject, checker)


@cache
def find_subject(kind: str) -> Subject:
    """The compiler that can decode records of `kind`."""
    if kind in _named:
        return _named[kind][0]
    subject: Subject = importlib.import_module(_entry(kind)[1]).SUBJECT
    return subject


@cache
def find_checker(kind: str) -> Checker:
    """What can run the kernels of records of `kind`."""
    if kind in _named:
        return _named[kind][1]
    checker: Checker = importlib.import_module(_entry(kind)[2]).CHECKER
    return checker


def _entry(kind: str) -> tuple[str, str, str]:
    for entry in SUBJECTS:
        if entry[0] == kind:
            return entry
    known = ", ".join([*(name for name, _, _ in SUBJECTS), *_named])
    raise RefusedError(
        Where.READING, f"kind {kind!r} is unknown, known are {known}; name another by --subject"
    )
