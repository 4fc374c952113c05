"""What one commit makes of kernels: compiled or run in workers that import the compiler of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256

import msgspec

from corpus import Stored
from replay.artefact import Artefact
from replay.bisect.search import Cell, Kind
from replay.compare.diff import DIGEST_LENGTH
from replay.errors import WorkerError
from replay.isolation.wire import Done
from replay.isolation.workers import Crew, Job, Reply, run_jobs
from replay.numerics import checking
from replay.outcome import Numerics, Outcome
from replay.phases.judge import blank, with_numerics
from replay.phases.run import blank_reply
from replay.recompile import Mode, call, read
from replay.recorded import replayed_opts
from replay.subject import Refused


class Criterion(Enum):
    """What makes a kernel bad."""

    SOURCE = "source"  # its source or launch is not what the good commit makes
    NUMERICS = "numerics"  # what it computes is wrong


_KINDS = {
    Numerics.WRONG: Kind.BAD,
    Numerics.BOUNDED: Kind.GOOD,
    Numerics.EXACT: Kind.GOOD,
}


@dataclass(frozen=True, slots=True)
class Judging:
    """How kernels are judged at every commit."""

    criterion: Criterion
    mode: Mode

    def judge(
        self, kernels: Sequence[Stored], crew: Crew, good: Mapping[str, str]
    ) -> dict[str, Cell]:
        """A cell for each kernel. `good` are the digests that are right, where a source decides."""
        try:
            made = {
                job.tag.key: _made(job.tag, reply) for job, reply in self._compile(kernels, crew)
            }
            if self.criterion is Criterion.SOURCE:
                return {key: _by_source(each, good.get(key)) for key, each in made.items()}
            return self._by_numerics(kernels, crew, made)
        except WorkerError as error:
            return {stored.key: Cell(Kind.SKIPPED, str(error)) for stored in kernels}

    def _compile(
        self, kernels: Sequence[Stored], crew: Crew
    ) -> Iterator[tuple[Job[Stored], Reply]]:
        return run_jobs([Job(each, call(each.record, self.mode)) for each in kernels], crew)

    def _by_numerics(
        self, kernels: Sequence[Stored], crew: Crew, made: Mapping[str, Artefact | Cell]
    ) -> dict[str, Cell]:
        cells = {key: each for key, each in made.items() if isinstance(each, Cell)}
        crew = replace(crew, imports=(*crew.imports, "replay.numerics.checker"))
        is_free = self.mode is Mode.FREE
        jobs = [
            Job(each, checking.call(each.record, replayed_opts(each.record, is_free=is_free), None))
            for each in kernels
            if each.key not in cells
        ]
        for job, reply in run_jobs(jobs, crew):
            cells[job.tag.key] = _by_numbers(job.tag, reply)
        return cells


def _made(stored: Stored, reply: Reply) -> Artefact | Cell:
    """What a compile gave; a commit that cannot compile a kernel says nothing of it."""
    if isinstance(reply, Done):
        answer = read(reply.payload)
        if isinstance(answer, Refused):
            return Cell(Kind.SKIPPED, f"error: {answer.error}")
        return answer.artefact
    result = blank_reply(stored, reply)
    return Cell(Kind.SKIPPED, f"{result.outcome.value}: {result.reason}")


def _by_source(made: Artefact | Cell, good: str | None) -> Cell:
    if isinstance(made, Cell):
        return made
    body = msgspec.msgpack.encode((made.source, made.launch), order="deterministic")
    digest = sha256(body).hexdigest()[:DIGEST_LENGTH]
    return Cell(Kind.GOOD if good in (None, digest) else Kind.BAD, digest)


def _by_numbers(stored: Stored, reply: Reply) -> Cell:
    result = with_numerics(blank(stored, Outcome.SAME), reply)
    assert result.numerics is not None
    kind = _KINDS.get(result.numerics, Kind.SKIPPED)
    text = result.digest if kind is Kind.GOOD else result.numerics_reason
    return Cell(kind, f"{result.numerics.value}: {text or result.digest}")
