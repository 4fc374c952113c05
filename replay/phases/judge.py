"""From what a worker replied to the one outcome of a record."""

import msgspec

from corpus import KernelRecord, Status, Stored
from replay.artefact import Artefact
from replay.compare.diff import artefact_of, facets_of, judge
from replay.isolation.wire import Done, OutOfMemory, Raised
from replay.isolation.workers import Died, Reply, TimedOut
from replay.numerics import checking
from replay.outcome import Numerics, Outcome, Result
from replay.recompile import Answer, read
from replay.subject import Refused, Where

_REFUSALS = {
    Where.READING: Outcome.UNREADABLE,
    Where.NAMING: Outcome.ERROR,
    Where.COMPILING: Outcome.ERROR,
}


class Failure(msgspec.Struct, frozen=True):
    """A baseline without an artefact: a compile that failed, or that never ended."""

    status: Status
    reason: str


Baseline = Artefact | Failure


def baseline_of(record: KernelRecord) -> Baseline:
    """What the record says happened when it was captured."""
    artefact = artefact_of(record)
    if artefact is not None:
        return artefact
    if record.status is Status.STARTED:
        return Failure(Status.STARTED, "its compile had started and never ended")
    return Failure(Status.FAILED, record.error or "its compile failed")


def blank(stored: Stored, outcome: Outcome, reason: str | None = None, log: str = "") -> Result:
    """A result that says nothing of what changed."""
    record = stored.record
    return Result(
        key=stored.key,
        outcome=outcome,
        name=record.name or "?",
        target=f"{record.target.backend}/{record.target.profile}",
        test_id=record.provenance.test_id,
        reason=reason,
        log=log,
    )


def result_of(stored: Stored, baseline: Baseline, reply: Reply) -> Result:
    """The outcome of one record."""
    match reply:
        case Done(payload=payload):
            answer = read(payload)
            if isinstance(answer, Refused):
                return _refused(stored, baseline, answer)
            return _answered(stored, baseline, answer)
        case Raised(error=error, traceback=traceback):
            return blank(stored, Outcome.CRASH, error, traceback)
        case Died(reason=reason, log=log):
            return blank(stored, Outcome.CRASH, reason, log)
        case TimedOut(seconds=seconds):
            return blank(stored, Outcome.TIMEOUT, f"no answer within {seconds:g} s")
        case OutOfMemory(reason=reason):
            return blank(stored, Outcome.MEMORY, reason)


def differs_with_itself(first: Result, baseline: Baseline, again: Result) -> Result:
    """`first`, unless a second compile in another process gave something else."""
    if first.outcome is Outcome.SAME and again.outcome is Outcome.SAME:
        return first
    earlier = first.new if first.new is not None else baseline
    later = again.new
    if later is None and isinstance(earlier, Artefact):
        reason = f"compiled once, then {again.outcome.value}: {again.reason}"
        return msgspec.structs.replace(
            first, outcome=Outcome.NONDETERMINISTIC, reason=reason, log=again.log, old=earlier
        )
    if later is None or not isinstance(earlier, Artefact):
        return first
    facets = facets_of(earlier, later)
    if not facets:
        return first
    return msgspec.structs.replace(
        first,
        outcome=Outcome.NONDETERMINISTIC,
        reason=f"{facets[0].value} differs between two compiles",
        facets=facets,
        old=earlier,
        new=later,
    )


def with_numerics(result: Result, reply: Reply) -> Result:
    """`result` with what running its kernel showed.

    A kernel that ends its process is wrong. One that came to no end within its limits, or whose
    process was ended by another, is unfinished: that says as much of the machine as of it.
    """
    match reply:
        case Done(payload=payload):
            checked = checking.read(payload)
            return msgspec.structs.replace(
                result,
                numerics=checked.numerics,
                numerics_reason=checked.reason,
                is_weak=checked.weak is not None,
                digest=checked.digest,
                bits=checked.bits,
                beside=checked.beside,
                machine_code=checked.machine_code,
                metrics=checked.metrics,
                elements=checked.elements,
                of_bound=checked.of_bound,
                code=checked.code,
            )
        case Raised(error=error, traceback=traceback):
            return _without_numbers(result, f"running it raises {error}", traceback)
        case Died(reason=reason, log=log, by_another=True):
            reason = f"its worker was ended from outside, by {reason}"
            return _without_numbers(result, reason, log)
        case Died(reason=reason, log=log):
            reason = f"running it ends in {reason}"
            return _without_numbers(result, reason, log, Numerics.WRONG)
        case TimedOut(seconds=seconds):
            reason = f"running it takes more than {seconds:g} s; give --record-timeout more"
            return _without_numbers(result, reason, "")
        case OutOfMemory(reason=reason):
            return _without_numbers(result, f"running it needs too much memory: {reason}", "")


def _without_numbers(
    result: Result, reason: str, log: str, numerics: Numerics = Numerics.UNFINISHED
) -> Result:
    return msgspec.structs.replace(
        result, numerics=numerics, numerics_reason=reason, log=result.log or log
    )


def _refused(stored: Stored, baseline: Baseline, answer: Refused) -> Result:
    is_as_before = (
        isinstance(baseline, Failure)
        and baseline.status is Status.FAILED
        and baseline.reason == answer.error
    )
    if is_as_before:
        return blank(stored, Outcome.SAME, f"fails as before: {answer.error}")
    return blank(stored, _REFUSALS[answer.where], answer.error)


def _answered(stored: Stored, baseline: Baseline, answer: Answer) -> Result:
    backend = stored.record.target.backend
    new = answer.artefact
    if isinstance(baseline, Failure):
        fixed = blank(stored, Outcome.FIXED, f"compiles now; before: {baseline.reason}")
        return msgspec.structs.replace(fixed, new=new, name=new.name)
    outcome, facets = judge(baseline, new, backend)
    if outcome is Outcome.SAME:
        return blank(stored, Outcome.SAME)
    if answer.pinned is not None:
        pinned_outcome, _ = judge(baseline, answer.pinned, backend)
        if pinned_outcome in (Outcome.SAME, Outcome.RENAMED):
            outcome = Outcome.OPTS
    changed = blank(stored, outcome, ", ".join(facet.value for facet in facets))
    return msgspec.structs.replace(
        changed, facets=facets, old=baseline, new=new, ast=stored.record.ast
    )
