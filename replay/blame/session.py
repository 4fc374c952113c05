"""From a key to what is to blame: the stages in one worker, then the device in another.

With another revision to compare with, also where the two compilers part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from corpus import KernelRecord
from replay.blame import examine, tracing
from replay.blame.answer import Blamed, Difference
from replay.capture.records import KIND
from replay.errors import ReplayError
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Crew, Died, Job, Limits, TimedOut, run_jobs
from replay.numerics import checking
from replay.outcome import Numerics
from replay.recorded import read_record, replayed_opts
from replay.session import compiler_root
from replay.subject import Checked, Refused
from replay.tree import ROOT
from replay.worktree import checked_out, find_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that is asked for. `compiler` is another tree than this one's."""

    corpus: Path
    key: str
    compiler: Path | None
    against: str | None
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found of a record; `device`: what a run showed where all stages are right."""

    key: str
    record: KernelRecord
    blamed: Blamed
    device: Checked | None
    difference: Difference | None = None

    @property
    def is_answered(self) -> bool:
        """Whether something is wrong or differs, and it is known where that begins."""
        at_device = self.device is not None and self.device.numerics is Numerics.WRONG
        return self.blamed.stage is not None or at_device or self.difference is not None


def blame(request: Request, environ: Mapping[str, str]) -> Answer:
    """Find out where the kernel of a record goes wrong. ReplayError where nobody can tell."""
    key, record = _record(request)
    crew = _crew(request, environ, request.compiler)
    blamed = examine.read(_answer(examine.call(record), crew, key))
    if isinstance(blamed, Refused):
        raise ReplayError(f"record {key[:12]}: does not compile: {blamed.error}")
    device = None
    if blamed.stage is None:
        opts = replayed_opts(record)
        device = checking.read(_answer(checking.call(record, opts, None), crew, key))
    return Answer(key, record, blamed, device, _difference(request, environ, crew, key, record))


def _crew(request: Request, environ: Mapping[str, str], tree: Path | None) -> Crew:
    return Crew(
        environ=environ,
        limits=request.limits,
        paths=() if tree is None else (tree,),
        imports=("compiler.compile", "replay.blame.examine"),
    )


def _difference(
    request: Request, environ: Mapping[str, str], ours: Crew, key: str, record: KernelRecord
) -> Difference | None:
    """Where the compiler parts from that of another revision, if it does."""
    if request.against is None:
        return None
    repository = find_repository(request.compiler or Path(ROOT))
    inside = (request.compiler or Path(ROOT)).resolve().relative_to(repository.resolve())
    with checked_out(repository, request.against) as tree:
        theirs = _crew(request, environ, compiler_root(tree / inside))
        return _parting(ours, theirs, key, record)


def _parting(ours: Crew, theirs: Crew, key: str, record: KernelRecord) -> Difference | None:
    crews = (ours, theirs)
    new, old = [_traced(crew, key, record, None) for crew in crews]
    both = zip_longest(new.stages, old.stages)
    stages = [(mine or other or ("",))[0] for mine, other in both if mine != other]
    if not stages:
        return None
    pairs = zip_longest(new.applications, old.applications)
    differing = [number for number, (mine, other) in enumerate(pairs, 1) if mine != other]
    if not differing:
        return Difference(stages[0])
    first = [_traced(crew, key, record, differing[0]).shown for crew in crews]
    return Difference(stages[0], *first)


def _traced(crew: Crew, key: str, record: KernelRecord, shown: int | None) -> tracing.Traced:
    found = tracing.read(_answer(tracing.call(record, shown), crew, key))
    if isinstance(found, Refused):
        raise ReplayError(f"record {key[:12]}: cannot be compared: {found.error}")
    return found


def _record(request: Request) -> tuple[str, KernelRecord]:
    key, record = read_record(request.corpus, request.key)
    if record.kind != KIND:
        raise ReplayError(f"record {key}: is of kind {record.kind!r}, only {KIND!r} has stages")
    return key, record


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
