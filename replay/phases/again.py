"""The determinism gate: changed kernels and a sample of the others are compiled once more.

In other processes, with other hash seeds and in reverse order. What differs with itself is
`nondeterministic`, and no change. The second compile tells its stages, too.
"""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from replay.artefact import Artefact
from replay.compare.diff import first_stage_that_differs
from replay.isolation.workers import Crew
from replay.outcome import CHANGED, Outcome, Result
from replay.phases.journal import Entry, Phase
from replay.phases.judge import Baseline, Failure, baseline_of, differs_with_itself, result_of
from replay.phases.plan import Extent, Plan, Progress, Replayed, Source, jobs_of, restored
from replay.subject import Detail

_SAMPLE = 16  # unchanged kernels that are compiled twice as well
_WORTH_A_WORKER = 32  # compiles; for fewer, starting another worker takes longer
_OTHER_SEED = 1_000_003


def recheck(
    source: Source,
    plan: Plan,
    olds: Mapping[str, Artefact | str],
    found: Replayed,
    progress: Progress,
) -> None:
    """Compile again what must be, and find what is not deterministic and where changes began."""
    keys = _to_recheck(plan, found)
    left = [key for key in keys if not restored(Phase.AGAIN, key, plan, found)]
    wanted = ((stored, stored) for stored in source.stored(reversed(left)))
    replies = plan.run_jobs(
        jobs_of(wanted, plan.mode, Detail.STAGES), _crew(plan.crew.compiling, len(left))
    )
    for done, (job, reply) in enumerate(replies, 1):
        key = job.tag.key
        baseline = olds.get(key) or baseline_of(job.tag.record)
        assert not isinstance(baseline, str)
        again = result_of(job.tag, baseline, reply)
        result = differs_with_itself(found.results[key], baseline, again)
        found.add(_with_stages(result, baseline, again))
        if plan.memory is not None and result.outcome is not Outcome.SAME:
            plan.memory.forget(key)
        if plan.journal is not None and key in found.digests:
            plan.journal.note(Entry(Phase.AGAIN, found.digests[key], found.results[key]))
        found.compiles += 1
        progress("compiling again", done, len(left))


def _crew(crew: Crew, jobs: int) -> Crew:
    size = min(crew.size, 1 + jobs // _WORTH_A_WORKER)
    return replace(crew, size=size, hash_seed=crew.hash_seed + _OTHER_SEED)


def _to_recheck(plan: Plan, found: Replayed) -> list[str]:
    changed = found.keys_with((*CHANGED, Outcome.FIXED))
    if plan.determinism is Extent.ALL:
        return sorted([*changed, *found.keys_with((Outcome.SAME,))])
    same = (key for key in sorted(found.digests) if found.results[key].outcome is Outcome.SAME)
    sample = [key for key, _ in zip(same, range(_SAMPLE), strict=False)]  # keys are digests
    return sorted([*changed, *sample])


def _with_stages(result: Result, baseline: Baseline, again: Result) -> Result:
    """Say which pass a change came from, now that the second compile tells its stages."""
    if again.new is None or result.outcome not in CHANGED or isinstance(baseline, Failure):
        return result
    stage = first_stage_that_differs(baseline, again.new)
    return msgspec.structs.replace(result, stage=stage, new=again.new)
