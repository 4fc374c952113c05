"""`--time`: changed kernels beside their old ones on this host, one worker at a time."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from corpus import KernelRecord, Opt, Stored
from replay.artefact import Artefact
from replay.capture.records import KIND
from replay.interval import Timing
from replay.isolation.wire import Call, Done
from replay.isolation.workers import Job, Reply, TimedOut
from replay.outcome import CHANGED, FAILED_RUNS, Beside, Facet, Numerics, Result
from replay.phases.plan import Plan, Progress, Replayed, Source
from replay.recompile import Mode
from replay.recorded import replayed_opts


class Request(msgspec.Struct, frozen=True):
    """One question, the opts to compile it with, and its old answer."""

    record: KernelRecord
    opts: tuple[Opt, ...] | None
    old: Artefact


class Found(msgspec.Struct, frozen=True):
    """The ratio of times; `why_not` where there is none."""

    timing: Timing | None = None
    why_not: str | None = None


encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_found = msgspec.msgpack.Decoder(Found).decode


def time_kernels(source: Source, plan: Plan, found: Replayed, progress: Progress) -> None:
    """Time what differs and is not wrong. Whatever becomes of a worker is a note, no outcome."""
    keys = [key for key in found.keys_with(CHANGED) if _is_timed(found.results[key])]
    why_not: Counter[str] = Counter()
    alone = replace(plan.crew, size=1)
    for done, (job, reply) in enumerate(plan.run_jobs(_jobs(source, plan, found, keys), alone), 1):
        answer = _answer(reply)
        if answer.timing is None:
            why_not[answer.why_not or "unknown"] += 1
        else:
            found.add(_timed(found.results[job.tag.key], answer.timing))
        progress("timing", done, len(keys))
    if keys:
        timed = sum(found.results[key].timing is not None for key in keys)
        found.notes.append(f"{timed} changed kernels were timed")
    found.notes += [f"{count} kernels were not timed: {why}" for why, count in why_not.items()]


def _is_timed(result: Result) -> bool:
    """Whether both sides can run here and are not the same instructions."""
    is_bad = result.numerics in (*FAILED_RUNS, Numerics.SKIPPED)
    is_one = result.machine_code == "equal" or result.beside is Beside.TEXT
    is_apart = not is_one and Facet.ARGUMENTS not in result.facets
    return result.old is not None and result.new is not None and is_apart and not is_bad


def _jobs(source: Source, plan: Plan, found: Replayed, keys: list[str]) -> Iterator[Job[Stored]]:
    for stored in source.stored(keys):
        record, old = stored.record, found.results[stored.key].old
        if record.kind == KIND and old is not None:
            opts = replayed_opts(record, is_free=plan.mode is Mode.FREE)
            yield Job(
                stored, Call("replay.phases.stopwatch:measure", encode(Request(record, opts, old)))
            )


def _answer(reply: Reply) -> Found:
    if isinstance(reply, Done):
        return _decode_found(reply.payload)
    if isinstance(reply, TimedOut):
        return Found(why_not=f"they take more than {reply.seconds:g} s")
    return Found(why_not=f"the worker ended in {type(reply).__name__}")


def _timed(result: Result, timing: Timing) -> Result:
    """With the ratio as a metric, too: an undecided one is no change."""
    pair = (1.0, 1.0 if timing.verdict == "undecided" else timing.ratio)
    return msgspec.structs.replace(result, timing=timing, metrics={"time": pair, **result.metrics})
