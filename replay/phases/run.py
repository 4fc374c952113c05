"""A whole replay: compile every record again, check what changed, run what must be run.

Phases: compile (the old side first, if there is one), recheck in other processes, numerics, and
memory and times where asked for. Each turns results into results, so that the counts add up
whatever happens in between.
"""

import time
from collections.abc import Iterator, Mapping
from importlib import import_module

from corpus import RawItem, Stored, Unreadable, UnreadableError, decode_item, digest_of_body
from replay.artefact import Artefact
from replay.errors import ReplayError
from replay.fingerprint import Known, Memory
from replay.isolation.wire import Done
from replay.isolation.workers import Job, Reply
from replay.outcome import Outcome, Result
from replay.phases.again import recheck
from replay.phases.journal import Entry, Phase
from replay.phases.judge import baseline_of, blank, result_of
from replay.phases.numbers import check_numbers
from replay.phases.plan import (
    NAMELESS,
    Asked,
    Extent,
    Plan,
    Progress,
    Replayed,
    Source,
    jobs_of,
    key_of_raw,
)
from replay.phases.timing import time_kernels
from replay.recompile import read, start
from replay.subject import Detail, Refused

_PROGRESS_EVERY = 2048  # records that are only looked at


def replay(source: Source, plan: Plan, progress: Progress) -> Replayed:
    """Replay every record of `source`. Ctrl-C ends it early, with what is known by then."""
    found = Replayed({})
    try:
        olds = _old_side(source, plan, found, progress)
        _compile(source, plan, olds, found, progress)
        if plan.determinism is not Extent.NONE:
            recheck(source, plan, olds, found, progress)
        if plan.verify is not Extent.NONE:
            check_numbers(source, plan, found, progress)
        if plan.memory_driver is not None:
            import_module("replay.phases.memory").check_memory(source, plan, found, progress)
        if plan.times:
            time_kernels(source, plan, found, progress)
    except KeyboardInterrupt:
        found.is_interrupted = True
    _account_for_the_rest(source, found)
    if plan.journal is not None:
        plan.journal.end(is_finished=not found.is_interrupted)
    return found


def _account_for_the_rest(source: Source, found: Replayed) -> None:
    """What was not reached, or was with a worker when the replay ended, is skipped."""
    if found.is_read and len(found.results) >= found.seen:
        return
    reason = "interrupted" if found.is_interrupted else found.stopped
    nameless = sum(key.startswith(NAMELESS) for key in found.results)
    for raw in source.raw():
        key = key_of_raw(raw)
        if key and key not in found.results:
            found.add(_skipped(raw, reason or "not reached"))
        elif not key:
            nameless -= 1
            if nameless < 0:
                found.add(_skipped(raw, reason or "not reached"))


def _skipped(raw: RawItem, reason: str) -> Result:
    item = decode_item(raw)
    if isinstance(item, Unreadable):
        return _unreadable(item)
    return blank(item, Outcome.SKIPPED, reason)


def _unreadable(item: Unreadable) -> Result:
    return Result(key=item.key, outcome=Outcome.UNREADABLE, reason=item.reason)


# --- the old side ---


def _old_side(
    source: Source, plan: Plan, found: Replayed, progress: Progress
) -> Mapping[str, Artefact | str]:
    """What an older compiler answers now; text where it cannot express the question."""
    if plan.old is None:
        return {}
    answers: dict[str, Artefact | str] = {}
    wanted = ((stored, stored) for stored in _unanswered(source, plan, answers))
    for job, reply in plan.run_jobs(jobs_of(wanted, plan.mode, Detail.STAGES), plan.old.compiling):
        answers[job.tag.key] = _old_answer(job.tag, reply)
        found.compiles += 1
        progress("compiling with the old compiler", len(answers), source.count)
    return answers


def _unanswered(source: Source, plan: Plan, answers: dict[str, Artefact | str]) -> Iterator[Stored]:
    """The records to ask the old compiler; `answers` gets what an interrupted replay had asked."""
    for raw in source.raw():
        item = decode_item(raw)
        if isinstance(item, Unreadable) or isinstance(raw, Unreadable):
            continue
        entry = _entry(plan, Phase.COMPILED, item.key, digest_of_body(*raw))
        if entry is not None and entry.old is not None:
            answers[item.key] = entry.old
        else:
            yield item


def _entry(plan: Plan, phase: Phase, key: str, digest: bytes) -> Entry | None:
    return None if plan.journal is None else plan.journal.find(phase, key, digest)


def _old_answer(stored: Stored, reply: Reply) -> Artefact | str:
    if isinstance(reply, Done):
        answer = read(reply.payload)
        if isinstance(answer, Refused):
            return f"the old compiler refuses: {answer.error}"
        return answer.artefact
    result = blank_reply(stored, reply)
    return f"the old compiler: {result.outcome.value}: {result.reason}"


def blank_reply(stored: Stored, reply: Reply) -> Result:
    """The outcome of a reply that is no answer."""
    return result_of(stored, baseline_of(stored.record), reply)


# --- compiling ---


def _compile(
    source: Source,
    plan: Plan,
    olds: Mapping[str, Artefact | str],
    found: Replayed,
    progress: Progress,
) -> None:
    stop = _Stop(plan, found)
    wanted = ((asked, asked.stored) for asked in _wanted(source, plan, olds, found, stop, progress))
    for job, reply in plan.run_jobs(jobs_of(wanted, plan.mode, Detail.OUTPUT), plan.crew.compiling):
        found.compiles += 1
        _judge(job, reply, plan, olds, found, stop)
        progress("compiling", len(found.results), source.count)
    if plan.memory is not None and found.known and not found.compiles:
        _start_once(plan, plan.memory)


def _start_once(plan: Plan, memory: Memory) -> None:
    """See that a compiler of which no record was asked can be imported: no answer is no proof."""
    if memory.has_started():
        return
    for _, reply in plan.run_jobs([Job(None, start())], plan.crew):
        if not isinstance(reply, Done):
            raise ReplayError(f"the compiler cannot be started: {reply}")
    memory.note_start()


def _judge(
    job: Job[Asked],
    reply: Reply,
    plan: Plan,
    olds: Mapping[str, Artefact | str],
    found: Replayed,
    stop: "_Stop",
) -> None:
    stored, digest = job.tag.stored, job.tag.digest
    old = olds.get(stored.key)
    assert not isinstance(old, str)
    result = result_of(stored, old or baseline_of(stored.record), reply)
    found.add(result)
    found.digests[stored.key] = digest
    stop.count(result)
    if plan.memory is not None and result.outcome is Outcome.SAME:
        plan.memory.learn(stored, digest)
    if plan.journal is not None:
        plan.journal.note(Entry(Phase.COMPILED, digest, result, old))


def _wanted(
    source: Source,
    plan: Plan,
    olds: Mapping[str, Artefact | str],
    found: Replayed,
    stop: "_Stop",
    progress: Progress,
) -> Iterator[Asked]:
    """The records to compile; all others get their results here."""
    if plan.memory is not None and _find_all(source, plan.memory, found):
        return
    for number, raw in enumerate(source.raw(), 1):
        if number % _PROGRESS_EVERY == 0:
            progress("reading", number, source.count)
        found.seen = number
        result = _result_without_compile(raw, plan, olds, found, stop)
        if isinstance(result, Asked):
            found.toolchains.update(result.stored.record.provenance.toolchain.items())
            yield result
        else:
            found.add(result)
    found.is_read = True


def _find_all(source: Source, memory: Memory, found: Replayed) -> bool:
    """Whether every record is known, as not one byte of the corpus is another than it was."""
    known = memory.all_of(source.keys(), source.reader.digest)
    if known is None:
        return False
    found.results = {key: _known(key, each) for key, each in known.items()}
    found.known = found.seen = len(known)
    found.is_read = found.is_file_known = True
    return True


def _result_without_compile(
    raw: RawItem,
    plan: Plan,
    olds: Mapping[str, Artefact | str],
    found: Replayed,
    stop: "_Stop",
) -> Result | Asked:
    """What can be said of a record at once, or the record and its digest."""
    if isinstance(raw, Unreadable):
        return _unreadable(raw)
    if (why := stop.why()) is not None:
        return _skipped(raw, why)
    key = raw[0]
    try:
        digest = digest_of_body(*raw)
    except UnreadableError as error:
        return _unreadable(Unreadable(key, str(error)))
    if plan.memory is not None and (known := plan.memory.find(key, digest)) is not None:
        found.known += 1
        return _known(key, known)
    if (entry := _entry(plan, Phase.COMPILED, key, digest)) is not None:
        found.resumed += 1
        found.digests[key] = digest
        stop.count(entry.result)
        return entry.result
    item = decode_item(raw)
    if isinstance(item, Unreadable):
        return _unreadable(item)
    if isinstance(old := olds.get(key), str):
        return blank(item, Outcome.SKIPPED, old)
    return Asked(item, digest)


def _known(key: str, known: Known) -> Result:
    return Result(
        key=key,
        outcome=Outcome.SAME,
        name=known.name,
        target=known.target,
        test_id=known.test_id,
    )


class _Stop:
    """Knows when enough is enough: a number of changes, or a time."""

    def __init__(self, plan: Plan, found: Replayed) -> None:
        self._plan = plan
        self._found = found
        self._changes = 0
        budget_s = plan.time_budget_s
        self._deadline = None if budget_s is None else time.monotonic() + budget_s

    def count(self, result: Result) -> None:
        self._changes += result.outcome not in (Outcome.SAME, Outcome.RENAMED, Outcome.SKIPPED)

    def why(self) -> str | None:
        found, limit = self._found, self._plan.max_changes
        if found.stopped is None and limit is not None and self._changes >= limit:
            found.stopped = f"stopped after {limit} changes"
        if found.stopped is None and self._deadline and time.monotonic() > self._deadline:
            found.stopped = f"stopped after {self._plan.time_budget_s:g} s"
        return found.stopped
