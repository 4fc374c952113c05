"""Strips every record in workers, replays what came of it, and exports what is as it should be."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corpus import (
    Form,
    KernelRecord,
    Reader,
    Status,
    Stored,
    Unreadable,
    export_corpus,
    key_of,
    open_reader,
    open_writer,
)
from replay.errors import UsageError
from replay.isolation.wire import Done, Raised
from replay.isolation.workers import Crew, Job, Reply, run_jobs
from replay.outcome import Outcome
from replay.phases.plan import Extent, Plan, Progress, Source
from replay.phases.run import replay
from replay.scratch import scratch_directory
from replay.share.names import Names, names_in
from replay.share.question import Stripped, call, read

_OTHER_SEED = 2_000_003  # of the hashes of the workers that replay
_ENDS = frozenset((Outcome.CRASH, Outcome.TIMEOUT, Outcome.MEMORY))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that is not in the shared corpus, by the key it has here, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Shared:
    """What became of the records: `records` are written, `joined` became equal to one of them.

    `same` were replayed and are what they were; the compile of the other `ended` comes to no end,
    as it did when it was recorded.
    """

    records: int
    joined: int
    same: int
    ended: int
    left_out: tuple[LeftOut, ...]
    unreadable: tuple[Unreadable, ...]


def share_corpus(
    reader: Reader, path: Path, crew: Crew, *, form: Form, progress: Progress
) -> Shared:
    """Write a corpus without names, constants and origins to one file, which replays as it is."""
    if not path.absolute().parent.is_dir():  # said now, and not when all has been compiled
        raise UsageError(f"{path}: {path.parent} is no directory; make it, or name another file")
    unreadable = tuple(item for item in reader if isinstance(item, Unreadable))
    names = names_in(item.record for item in reader if isinstance(item, Stored))
    left_out: list[LeftOut] = []
    origins: dict[str, str] = {}  # new key to that of a record it was made from
    with scratch_directory("share") as directory:
        draft = directory / "draft"
        stripped = 0
        with open_writer(draft) as writer:
            for key, record in _stripped(reader, names, crew, left_out, progress):
                writer.add(record)
                origins.setdefault(key_of(record), key)
                stripped += 1
            if reader.lost:
                writer.note_lost(reader.lost)
            sound, bad = _replayed(draft, crew, progress)
            for key, reason in bad.items():
                writer.remove(key)
                left_out.append(LeftOut(origins[key], reason))
        with open_reader(draft, allow_empty=True) as drafted:
            export_corpus(drafted, path, form=form)
    same = sum(outcome is Outcome.SAME for outcome in sound.values())
    return Shared(
        records=len(sound),
        joined=stripped - len(origins),
        same=same,
        ended=len(sound) - same,
        left_out=tuple(sorted(left_out, key=lambda each: each.key)),
        unreadable=unreadable,
    )


def _stripped(
    reader: Reader, names: Names, crew: Crew, left_out: list[LeftOut], progress: Progress
) -> Iterator[tuple[str, KernelRecord]]:
    """Keys, and the records that became of theirs; `left_out` gets the others."""
    total = len(reader)
    again: list[Stored] = []
    jobs = (Job(item, call(item.record, names)) for item in reader if isinstance(item, Stored))
    for done, (job, reply) in enumerate(run_jobs(jobs, crew), 1):
        progress("stripping", done, total)
        if isinstance(reply, Done | Raised) or job.tag.record.status is not Status.STARTED:
            yield from _received(job, reply, left_out)
        else:
            again.append(job.tag)  # the compile comes to no end, as when it was recorded
    jobs = (Job(item, call(item.record, names, compiles=False)) for item in again)
    for job, reply in run_jobs(jobs, crew):
        yield from _received(job, reply, left_out)


def _received(
    job: Job[Stored], reply: Reply, left_out: list[LeftOut]
) -> Iterator[tuple[str, KernelRecord]]:
    key = job.tag.key
    if not isinstance(reply, Done):
        left_out.append(LeftOut(key, f"its compile ends in {reply}"))
        return
    answer = read(reply.payload)
    if isinstance(answer, Stripped):
        yield key, answer.record
    else:
        left_out.append(LeftOut(key, answer.reason))


def _replayed(
    draft: Path, crew: Crew, progress: Progress
) -> tuple[dict[str, Outcome], dict[str, str]]:
    """Replay what is to be shared, in other processes: what holds, and why the rest does not."""
    plan = Plan(replace(crew, hash_seed=_OTHER_SEED), verify=Extent.NONE, determinism=Extent.NONE)
    with open_reader(draft, allow_empty=True) as reader:
        found = replay(Source.every(reader), plan, progress)
        if found.is_interrupted:
            raise KeyboardInterrupt
        statuses = {item.key: item.record.status for item in reader if isinstance(item, Stored)}
    sound: dict[str, Outcome] = {}
    bad: dict[str, str] = {}
    for result in found.ordered():
        is_question = statuses[result.key] is Status.STARTED and result.outcome in _ENDS
        if result.outcome is Outcome.SAME or is_question:
            sound[result.key] = result.outcome
        else:
            bad[result.key] = f"shared, it replays as {result.outcome.value}: {result.reason}"
    return sound, bad
