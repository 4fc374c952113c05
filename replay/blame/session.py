"""From a key to what is to blame: the stages in one worker, then the device in another."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corpus import KernelRecord, Unreadable, open_reader, resolve_key
from replay import checking
from replay.blame.answer import Blamed
from replay.blame.examine import call, read
from replay.errors import ReplayError
from replay.outcome import Numerics
from replay.records import KIND
from replay.subject import Checked, Refused
from replay.wire import Call, Done, OutOfMemory, Raised
from replay.workers import Crew, Died, Job, Limits, TimedOut, run_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that is asked for. `compiler` is another tree than this one's."""

    corpus: Path
    key: str
    compiler: Path | None
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found of a record; `device`: what a run showed where all stages are right."""

    key: str
    record: KernelRecord
    blamed: Blamed
    device: Checked | None

    @property
    def is_answered(self) -> bool:
        """Whether something is wrong, and it is known where it begins."""
        at_device = self.device is not None and self.device.numerics is Numerics.WRONG
        return self.blamed.stage is not None or at_device


def blame(request: Request, environ: Mapping[str, str]) -> Answer:
    """Find out where the kernel of a record goes wrong. ReplayError where nobody can tell."""
    key, record = _record(request)
    crew = Crew(
        environ=environ,
        limits=request.limits,
        paths=() if request.compiler is None else (request.compiler,),
        imports=("compiler.compile", "replay.blame.examine"),
    )
    blamed = read(_answer(call(record), crew, key))
    if isinstance(blamed, Refused):
        raise ReplayError(f"record {key[:12]}: does not compile: {blamed.error}")
    if blamed.stage is not None:
        return Answer(key, record, blamed, None)
    opts = record.requested if record.applied is None else record.applied
    checked = checking.read(_answer(checking.call(record, opts, None), crew, key))
    return Answer(key, record, blamed, checked)


def _record(request: Request) -> tuple[str, KernelRecord]:
    with open_reader(request.corpus) as reader:
        key = resolve_key(reader, request.key)
        item = reader.read(key)
    if item is None or isinstance(item, Unreadable):
        reason = item.reason if item else "gone"
        raise ReplayError(f"record {key}: unreadable: {reason}; see `replay corpus check`")
    if item.record.kind != KIND:
        raise ReplayError(
            f"record {key}: is of kind {item.record.kind!r}, only {KIND!r} has stages"
        )
    return key, item.record


def _answer(job: Call, crew: Crew, key: str) -> bytes:
    (reply,) = [reply for _, reply in run_jobs([Job(None, job)], crew)]
    match reply:
        case Done(payload=payload):
            return payload
        case Died(reason=reason) | OutOfMemory(reason=reason):
            raise ReplayError(f"record {key[:12]}: the worker ended: {reason}")
        case TimedOut(seconds=seconds):
            raise ReplayError(f"record {key[:12]}: no answer within {seconds:g} s")
        case Raised(error=error):
            raise ReplayError(f"record {key[:12]}: {error}")
