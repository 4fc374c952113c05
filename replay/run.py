"""A whole replay: compile every record again, check what changed, run what must be run, report.

Phases: compile (the old side first, if there is one), recheck in other processes, numerics. Each
turns results into results, so that the counts add up whatever happens in between.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import msgspec

from corpus import Item, Stored, Unreadable
from replay import checking
from replay.diff import first_stage_that_differs
from replay.fingerprint import Memory
from replay.judge import (
    Baseline,
    Failure,
    baseline_of,
    blank,
    differs_with_itself,
    result_of,
    with_numerics,
)
from replay.outcome import CHANGED, Facet, Outcome, Result
from replay.recompile import Mode, call, read
from replay.subject import Detail, Refused
from replay.wire import Done
from replay.workers import Crew, Job, Reply, run_jobs

_SAMPLE = 16  # unchanged kernels that are compiled twice as well
_OTHER_SEED = 1_000_003

Progress = Callable[[str, int, int], None]


class Extent(Enum):
    """Which records a costly check looks at."""

    NONE = "none"
    CHANGED = "changed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Plan:
    """How to replay. `old` compiles the baseline anew, where it is not the recorded one."""

    crew: Crew
    old: Crew | None = None
    mode: Mode = Mode.PINNED
    verify: Extent = Extent.CHANGED
    determinism: Extent = Extent.CHANGED
    max_changes: int | None = None
    time_budget_s: float | None = None
    memory: Memory | None = None  # what need not be compiled


@dataclass(slots=True)
class Replayed:
    """What has been found so far. Owned by `replay`; whole after an interruption too."""

    results: dict[str, Result]
    compiles: int = 0
    is_interrupted: bool = False
    stopped: str | None = None
    known: set[str] = field(default_factory=set)  # keys that were not compiled; only asked
    toolchains: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        self.results[result.key] = result

    def ordered(self) -> tuple[Result, ...]:
        return tuple(self.results[key] for key in sorted(self.results))


class Source(msgspec.Struct, frozen=True):
    """Records, in order of keys, read again by each phase that needs them."""

    keys: tuple[str, ...]
    read: Callable[[str], Item]

    def items(self) -> Iterator[Item]:
        return (self.read(key) for key in self.keys)


def replay(source: Source, plan: Plan, progress: Progress) -> Replayed:
    """Replay every record of `source`. Ctrl-C ends it early, with what is known by then."""
    found = Replayed({})
    try:
        baselines = _old_side(source, plan, found, progress)
        _compile(source, plan, baselines, found, progress)
        if plan.determinism is not Extent.NONE:
            _recheck(source, plan, baselines, found, progress)
        if plan.verify is not Extent.NONE:
            _verify(source, plan, baselines, found, progress)
    except KeyboardInterrupt:
        found.is_interrupted = True
    for item in source.items() if len(found.results) < len(source.keys) else ():
        if item.key not in found.results:
            reason = "interrupted" if found.is_interrupted else found.stopped
            found.add(_skipped(item, reason or "not reached"))
    return found


def _skipped(item: Item, reason: str) -> Result:
    if isinstance(item, Unreadable):
        return Result(key=item.key, outcome=Outcome.UNREADABLE, reason=item.reason)
    return blank(item, Outcome.SKIPPED, reason)


# --- the old side ---


def _old_side(
    source: Source, plan: Plan, found: Replayed, progress: Progress
) -> Mapping[str, Baseline | str]:
    """What an older compiler answers now; text where it cannot express the question."""
    if plan.old is None:
        return {}
    answers: dict[str, Baseline | str] = {}
    stored = (item for item in source.items() if isinstance(item, Stored))
    for job, reply in run_jobs(_jobs(stored, plan.mode, Detail.STAGES), plan.old):
        answers[job.tag.key] = _old_answer(job.tag, reply)
        found.compiles += 1
        progress("compiling with the old compiler", len(answers), len(source.keys))
    return answers


def _old_answer(stored: Stored, reply: Reply) -> Baseline | str:
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


def _jobs(items: Iterable[Stored], mode: Mode, detail: Detail) -> Iterator[Job[Stored]]:
    for item in items:
        yield Job(item, call(item.record, mode, detail))


def _compile(
    source: Source,
    plan: Plan,
    baselines: Mapping[str, Baseline | str],
    found: Replayed,
    progress: Progress,
) -> None:
    stop = _Stop(plan, found)
    wanted = _readable(source, plan, baselines, found, stop)
    for job, reply in run_jobs(_jobs(wanted, plan.mode, Detail.OUTPUT), plan.crew):
        stored = job.tag
        baseline = baselines.get(stored.key) or baseline_of(stored.record)
        assert not isinstance(baseline, str)
        found.compiles += 1
        result = result_of(stored, baseline, reply)
        found.add(result)
        stop.count(result)
        if plan.memory is not None and result.outcome is Outcome.SAME:
            plan.memory.learn(stored)
        progress("compiling", len(found.results), len(source.keys))


def _readable(
    source: Source,
    plan: Plan,
    baselines: Mapping[str, Baseline | str],
    found: Replayed,
    stop: "_Stop",
) -> Iterator[Stored]:
    """The records to compile; all others get their results here."""
    for item in source.items():
        old = baselines.get(item.key)
        if isinstance(item, Unreadable):
            found.add(Result(key=item.key, outcome=Outcome.UNREADABLE, reason=item.reason))
        elif (why := stop.why()) is not None:
            found.add(blank(item, Outcome.SKIPPED, why))
        elif isinstance(old, str):
            found.add(blank(item, Outcome.SKIPPED, old))
        elif plan.memory is not None and plan.memory.knows(item):
            found.known.add(item.key)
            found.add(blank(item, Outcome.SAME))
        else:
            found.toolchains.update(item.record.provenance.toolchain.items())
            yield item


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


# --- again, elsewhere ---


def _recheck(
    source: Source,
    plan: Plan,
    baselines: Mapping[str, Baseline | str],
    found: Replayed,
    progress: Progress,
) -> None:
    """Compile changed kernels and a sample again: other processes, hash seeds and order."""
    keys = _to_recheck(plan, found)
    stored = (item for key in reversed(keys) if isinstance(item := source.read(key), Stored))
    crew = replace(plan.crew, hash_seed=plan.crew.hash_seed + _OTHER_SEED)
    replies = run_jobs(_jobs(stored, plan.mode, Detail.STAGES), crew)
    for done, (job, reply) in enumerate(replies, 1):
        key = job.tag.key
        baseline = baselines.get(key) or baseline_of(job.tag.record)
        assert not isinstance(baseline, str)
        again = result_of(job.tag, baseline, reply)
        result = differs_with_itself(found.results[key], baseline, again)
        found.add(_with_stages(result, baseline, again))
        if plan.memory is not None and result.outcome is not Outcome.SAME:
            plan.memory.forget(key)
        found.compiles += 1
        progress("compiling again", done, len(keys))


def _to_recheck(plan: Plan, found: Replayed) -> list[str]:
    answered = (*CHANGED, Outcome.SAME, Outcome.FIXED)
    keys = [key for key in sorted(found.results) if found.results[key].outcome in answered]
    if plan.determinism is Extent.ALL:
        return keys
    same = [
        key for key in keys if found.results[key].outcome is Outcome.SAME and key not in found.known
    ]
    sample = frozenset(same[:_SAMPLE])  # keys are digests: the first are as good as any
    return [key for key in keys if found.results[key].outcome is not Outcome.SAME or key in sample]


def _with_stages(result: Result, baseline: Baseline, again: Result) -> Result:
    """Say which pass a change came from, now that the second compile tells its stages."""
    if again.new is None or result.outcome not in CHANGED or isinstance(baseline, Failure):
        return result
    stage = first_stage_that_differs(baseline, again.new)
    return msgspec.structs.replace(result, stage=stage, new=again.new)


# --- numerics ---


def _verify(
    source: Source,
    plan: Plan,
    baselines: Mapping[str, Baseline | str],
    found: Replayed,
    progress: Progress,
) -> None:
    """Run kernels beside what they were; where that ends badly, once more alone, to be fair."""
    keys = _to_verify(plan, found)
    backends = sorted({found.results[key].target.partition("/")[0] for key in keys})
    imports = (*plan.crew.imports, "replay.checker")
    crew = replace(plan.crew, imports=imports, warm_up=checking.warm_up(backends))
    alone: list[str] = []
    jobs = _check_jobs(source, plan, found, keys, with_old=True)
    for done, (job, reply) in enumerate(run_jobs(jobs, crew), 1):
        result = found.results[job.tag.key]
        if isinstance(reply, Done) or result.old is None:
            found.add(with_numerics(result, reply))
        else:
            alone.append(job.tag.key)
        progress("running", done, len(keys))
    jobs = _check_jobs(source, plan, found, alone, with_old=False)
    for job, reply in run_jobs(jobs, crew):
        found.add(with_numerics(found.results[job.tag.key], reply))


def _to_verify(plan: Plan, found: Replayed) -> list[str]:
    wanted = {*CHANGED, Outcome.FIXED}
    if plan.verify is Extent.ALL:
        wanted |= {Outcome.SAME, Outcome.NONDETERMINISTIC}
    return [
        key
        for key in sorted(found.results)
        if found.results[key].outcome in wanted
        if not (found.results[key].reason or "").startswith("fails as before")
    ]


def _check_jobs(
    source: Source, plan: Plan, found: Replayed, keys: list[str], *, with_old: bool
) -> Iterator[Job[Stored]]:
    for key in keys:
        item, result = source.read(key), found.results[key]
        if not isinstance(item, Stored):
            continue
        record = item.record
        is_free = plan.mode is Mode.FREE or record.applied is None
        opts = record.requested if is_free else record.applied
        old = result.old if with_old and Facet.ARGUMENTS not in result.facets else None
        yield Job(item, checking.call(record, opts, old))
