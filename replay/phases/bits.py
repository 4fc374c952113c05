"""Bits across backends: the same question under the same opts owes the same results everywhere.

Records that were run are compared with each other; with `across` each kernel is run on the other
backends as well. What is wrong already is wrong for a better reason, and is left alone.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from corpus import Stored
from replay.isolation.wire import Done
from replay.isolation.workers import Crew, Job, Reply
from replay.numerics import checking
from replay.outcome import Numerics, Result
from replay.phases.judge import with_numerics
from replay.phases.plan import Plan, Progress, Replayed, Source

_RAN = (Numerics.EXACT, Numerics.BOUNDED, Numerics.UNDECIDED)
_SHOWN = 12  # digits of a key, and of a digest


def compare_records(found: Replayed) -> None:
    """Mark records whose kernels owe the same bits and have not given them."""
    owing: dict[str, list[Result]] = {}
    for result in found.ordered():
        if result.bits is not None and result.numerics in _RAN:
            owing.setdefault(result.bits, []).append(result)
    for results in owing.values():
        for result in results:
            other = next((each for each in results if each.digest != result.digest), None)
            if other is not None:
                found.add(_parted(result, f"{other.target} ({other.key[:_SHOWN]})"))


def run_elsewhere(
    source: Source, plan: Plan, found: Replayed, progress: Progress, crew: Crew
) -> None:
    """Run what was run on its own backend on all others, and compare."""
    keys = [each.key for each in found.ordered() if each.bits and each.numerics in _RAN]
    compared: dict[str, int] = {}
    for done, (job, reply) in enumerate(plan.run_jobs(_jobs(source, plan, found, keys), crew), 1):
        _compare(job.tag.key, reply, found, compared)
        progress("running elsewhere", done, len(keys))
    for target, count in sorted(compared.items()):
        found.notes.append(f"{count} of {len(keys)} kernels were run on {target} as well")


def _jobs(source: Source, plan: Plan, found: Replayed, keys: list[str]) -> Iterator[Job[Stored]]:
    for stored in source.stored(keys):
        new = found.results[stored.key].new
        opts = stored.record.applied if new is None else new.applied
        yield Job(stored, checking.call_elsewhere(stored.record, opts))


def _compare(key: str, reply: Reply, found: Replayed, compared: dict[str, int]) -> None:
    result = found.results[key]
    if not isinstance(reply, Done):
        bad = with_numerics(result, reply)
        reason = f"on another backend: {bad.numerics_reason}"
        found.add(msgspec.structs.replace(bad, numerics_reason=reason))
        return
    for target, checked in checking.read_elsewhere(reply.payload):
        compared[target] = compared.get(target, 0) + (checked.digest is not None)
        if checked.bits == result.bits and checked.digest != result.digest:
            found.add(_parted(result, target))


def _parted(result: Result, other: str) -> Result:
    reason = f"other bits than {other} gives under the same opts, each within the bound"
    return msgspec.structs.replace(result, numerics=Numerics.WRONG, numerics_reason=reason)


def with_devices(crew: Crew, backends: tuple[str, ...]) -> Crew:
    """Workers that open these devices before their first job."""
    imports = (*crew.imports, "replay.numerics.checker")
    return replace(crew, imports=imports, warm_up=checking.warm_up(backends))
