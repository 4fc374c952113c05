"""The numeric phase: kernels run beside what they were and against the reference, in workers."""

from collections.abc import Iterator
from dataclasses import replace

from corpus import Stored
from replay import checking, metrics
from replay.journal import Entry, Phase
from replay.judge import with_numerics
from replay.outcome import CHANGED, Facet, Outcome
from replay.plan import Extent, Plan, Progress, Replayed, Source, restored
from replay.recompile import Mode
from replay.wire import Call, Done
from replay.workers import Job, Reply


def check_numbers(source: Source, plan: Plan, found: Replayed, progress: Progress) -> None:
    """Run kernels beside what they were; where that ends badly, once more alone, to be fair."""
    keys = [key for key in _to_verify(plan, found) if not restored(Phase.RUN, key, plan, found)]
    backends = sorted({found.results[key].target.partition("/")[0] for key in keys})
    imports = (*plan.crew.imports, "replay.checker")
    warm_up = (*checking.warm_up(backends), *(_modelling(plan) if keys else ()))
    crew = replace(plan.crew, imports=imports, warm_up=warm_up)
    alone: list[str] = []
    jobs = _check_jobs(source, plan, found, keys, with_old=True)
    for done, (job, reply) in enumerate(plan.run_jobs(jobs, crew), 1):
        key = job.tag.key
        if isinstance(reply, Done) or found.results[key].old is None:
            _note(key, reply, plan, found)
        else:
            alone.append(key)
        progress("running", done, len(keys))
    jobs = _check_jobs(source, plan, found, alone, with_old=False)
    for job, reply in plan.run_jobs(jobs, crew):
        _note(job.tag.key, reply, plan, found)


def _modelling(plan: Plan) -> tuple[Call, ...]:
    """The call that tells workers where llvm-mca is, if it is anywhere."""
    tool = metrics.find_tool(plan.crew.environ)
    return () if tool is None else (Call("replay.metrics:use_tool", tool.encode()),)


def _note(key: str, reply: Reply, plan: Plan, found: Replayed) -> None:
    result = with_numerics(found.results[key], reply)
    found.add(result)
    if plan.journal is not None and key in found.digests:
        plan.journal.note(Entry(Phase.RUN, found.digests[key], result))


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
        record, result = stored.record, found.results[stored.key]
        is_free = plan.mode is Mode.FREE or record.applied is None
        opts = record.requested if is_free else record.applied
        old = result.old if with_old and Facet.ARGUMENTS not in result.facets else None
        yield Job(stored, checking.call(record, opts, old))
