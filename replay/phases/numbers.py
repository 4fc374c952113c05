"""The numeric phase: kernels run beside what they were and against the reference, in workers."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from corpus import Stored
from replay import metrics
from replay.isolation.wire import Call, Done
from replay.isolation.workers import Crew, Job, Reply
from replay.numerics import checking
from replay.outcome import CHANGED, Outcome, Result
from replay.phases.bits import compare_records, run_elsewhere, with_devices
from replay.phases.journal import Entry, Phase
from replay.phases.judge import with_numerics
from replay.phases.plan import Extent, Plan, Progress, Replayed, Source, restored
from replay.phases.together import answers, jobs_together, request_of


def check_numbers(source: Source, plan: Plan, found: Replayed, progress: Progress) -> None:
    """Run kernels beside what they were; where that ends badly, once more alone, to be fair."""
    keys = [key for key in _to_verify(plan, found) if not restored(Phase.RUN, key, plan, found)]
    backends = sorted({found.results[key].target.partition("/")[0] for key in keys})
    ready = with_devices(plan.crew, tuple(backends))
    crew = replace(ready, warm_up=(*ready.warm_up, *(_modelling(plan) if keys else ())))
    left, alone = _run_together(source, plan, found, progress, crew, keys)
    jobs = _check_jobs(source, plan, found, left, with_old=True)
    for job, reply in plan.run_jobs(jobs, crew):
        if not _is_noted(job.tag, reply, plan, found):
            alone.append(job.tag.key)
    jobs = _check_jobs(source, plan, found, alone, with_old=False)
    for job, reply in plan.run_jobs(jobs, crew):
        _note(job.tag, reply, plan, found)
    if plan.across:
        run_elsewhere(source, plan, found, progress, with_devices(plan.crew, ()))
    compare_records(found)


def _run_together(
    source: Source, plan: Plan, found: Replayed, progress: Progress, crew: Crew, keys: list[str]
) -> tuple[list[str], list[str]]:
    """Run every kernel. Returns the keys of those that have to run on their own, and of those that
    have to run without their old ones."""
    left: list[str] = []
    alone: list[str] = []
    done = 0
    for job, reply in plan.run_jobs(jobs_together(source, plan, found, keys), crew):
        for stored, answer in answers(job.tag, reply):
            if answer is None:
                left.append(stored.key)
            elif not _is_noted(stored, answer, plan, found):
                alone.append(stored.key)
            done += answer is not None
        progress("running", done, len(keys))
    return left, alone


def _is_noted(stored: Stored, reply: Reply, plan: Plan, found: Replayed) -> bool:
    """Note a reply, unless the old kernel may be to blame for it."""
    if not isinstance(reply, Done) and found.results[stored.key].old is not None:
        return False
    _note(stored, reply, plan, found)
    return True


def _modelling(plan: Plan) -> tuple[Call, ...]:
    """The call that tells workers where llvm-mca is, if it is anywhere."""
    tool = metrics.find_tool(plan.crew.environ)
    return () if tool is None else (Call("replay.metrics:use_tool", tool.encode()),)


def _note(stored: Stored, reply: Reply, plan: Plan, found: Replayed) -> None:
    key = stored.key
    result = _beside_the_record(stored, with_numerics(found.results[key], reply))
    found.add(result)
    if plan.journal is not None and key in found.digests:
        plan.journal.note(Entry(Phase.RUN, found.digests[key], result))


def _beside_the_record(stored: Stored, result: Result) -> Result:
    """Say so where a kernel of the same source gives other bits than were recorded of it."""
    recorded = (stored.record.numerics or {}).get("digest")
    if result.outcome is not Outcome.SAME or recorded in (None, result.digest):
        return result
    parts = [result.numerics_reason] if result.numerics_reason else []
    reason = "; ".join([*parts, "other bits than are recorded"])
    return msgspec.structs.replace(result, numerics_reason=reason)


def _to_verify(plan: Plan, found: Replayed) -> list[str]:
    wanted = [*CHANGED, Outcome.FIXED]
    if plan.verify is Extent.ALL:
        wanted += [Outcome.SAME, Outcome.NONDETERMINISTIC]
    return [
        key
        for key in found.keys_with(wanted)
        if not (found.results[key].reason or "").startswith("fails as before")
    ]


def _check_jobs(
    source: Source, plan: Plan, found: Replayed, keys: list[str], *, with_old: bool
) -> Iterator[Job[Stored]]:
    for stored in source.stored(keys):
        request = request_of(stored, plan, found)
        if not with_old:
            request = msgspec.structs.replace(request, old=None)
        yield Job(stored, checking.call_one(request))
