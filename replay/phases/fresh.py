"""Two captures of the same programs, compared without compiling: gives `new` and `missing`."""

import msgspec

from corpus import Reader, Stored, Unreadable
from replay.compare.diff import artefact_of, first_stage_that_differs, judge
from replay.outcome import Outcome, Result
from replay.phases.judge import Failure, baseline_of, blank
from replay.phases.plan import Replayed, Source


def compare(source: Source, fresh: Reader) -> Replayed:
    """One result for every key of either corpus."""
    found = Replayed({})
    for item in source.items():
        if isinstance(item, Unreadable):
            found.add(Result(key=item.key, outcome=Outcome.UNREADABLE, reason=item.reason))
        else:
            found.add(_compared(item, fresh.read(item.key)))
    for item in fresh:
        if item.key in found.results:
            continue
        if isinstance(item, Unreadable):
            found.add(Result(key=item.key, outcome=Outcome.UNREADABLE, reason=item.reason))
        else:
            found.add(blank(item, Outcome.NEW, "only in the fresh corpus"))
    return found


def _compared(old: Stored, new: Stored | Unreadable | None) -> Result:
    if new is None:
        return blank(old, Outcome.MISSING, "not in the fresh corpus")
    if isinstance(new, Unreadable):
        return blank(old, Outcome.UNREADABLE, f"in the fresh corpus: {new.reason}")
    baseline, artefact = baseline_of(old.record), artefact_of(new.record)
    if artefact is None:
        failure = baseline_of(new.record)
        assert isinstance(failure, Failure)
        if baseline == failure:
            return blank(old, Outcome.SAME, f"fails as before: {failure.reason}")
        return blank(old, Outcome.ERROR, failure.reason)
    if isinstance(baseline, Failure):
        fixed = blank(old, Outcome.FIXED, f"compiles now; before: {baseline.reason}")
        return msgspec.structs.replace(fixed, new=artefact)
    outcome, facets = judge(baseline, artefact, old.record.target.backend)
    if outcome is Outcome.SAME:
        return blank(old, Outcome.SAME)
    return msgspec.structs.replace(
        blank(old, outcome, ", ".join(facet.value for facet in facets)),
        ast=old.record.ast,
        facets=facets,
        old=baseline,
        new=artefact,
        stage=first_stage_that_differs(baseline, artefact),
    )
