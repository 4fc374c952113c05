"""Whether a replay passes. Fails closed: what was not replayed, or not understood, is no pass."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from corpus import SHORT_KEY
from replay import metrics
from replay.approvals import Ledger
from replay.compare.diff import digest_of
from replay.outcome import FAILED_RUNS, NO_ANSWER, Numerics, Outcome, Result, kind_of
from replay.policy import Policy, minimum_of

_NOT_REPLAYED = (Outcome.SKIPPED, Outcome.UNREADABLE, Outcome.MISSING, Outcome.NEW)
_NEVER_APPROVED = (*NO_ANSWER, Outcome.NONDETERMINISTIC)


class Gate(msgspec.Struct, frozen=True):
    """The verdict, each reason against it in one line, and the keys of what the policy refuses."""

    passed: bool
    why: tuple[str, ...]
    refused: tuple[str, ...] = ()


def with_approvals(results: Sequence[Result], ledger: Ledger) -> tuple[Result, ...]:
    """Mark the differences that the ledger approves, and no others, whatever they were marked with
    before. Wrong or unknown numbers never are."""
    return tuple(
        result
        if result.old is None or result.new is None
        else _with_approval(_unmarked(result), ledger)
        for result in results
    )


def never_approved(result: Result) -> bool:
    """Whether nobody may approve it: there is no one answer, or its numbers are not right."""
    return result.outcome in _NEVER_APPROVED or result.numerics in FAILED_RUNS


def with_growth(results: Sequence[Result], policy: Policy) -> tuple[Result, ...]:
    """Measure what differs, and mark what grew beyond what the policy allows."""
    if all(result.old is None or result.new is None for result in results):
        return tuple(results)
    return metrics.guarded(metrics.measured(results), policy)


def pass_or_fail(
    results: Sequence[Result],
    policy: Policy,
    *,
    lost: int = 0,
    damage: Sequence[str] = (),
    is_interrupted: bool = False,
    is_part: bool = False,
) -> Gate:
    """Apply the policy to every result and to the whole. Of a part, nothing need be there."""
    why: list[str] = []
    counts = Counter((each.outcome, each.numerics, each.approval is None) for each in results)
    kinds: Counter[str] = Counter()
    for (outcome, numerics, is_open), count in counts.items():
        if not _allows(policy, outcome, numerics, is_approved=not is_open):
            kinds[kind_of(outcome, numerics)] += count
    why += [f"{count} {_records(count)} {kind}" for kind, count in sorted(kinds.items())]
    beyond = [result for result in results if result.excess is not None and result.is_beyond]
    why += _growth(beyond)
    replayed = sum(n for (outcome, _, _), n in counts.items() if outcome not in _NOT_REPLAYED)
    minimum = 0 if is_part and not results else minimum_of(policy, total=len(results))
    if replayed < minimum:
        why.append(f"{replayed} of {len(results)} records were replayed, the minimum is {minimum}")
    if lost and not policy.allow_incomplete:
        why.append(f"the corpus is incomplete: {lost} {_records(lost)} lost")
    why += [f"the corpus is damaged: {line}" for line in damage]
    if is_interrupted:
        why.append("the replay was interrupted: not all that was asked was done")
    keys: tuple[str, ...] = ()
    if kinds or beyond:  # else none is refused, and there may be 100,000
        why += _lapsed(results, policy)
        keys = tuple(result.key for result in results if not is_allowed(result, policy))
    return Gate(passed=not why, why=tuple(why), refused=keys)


def is_allowed(result: Result, policy: Policy) -> bool:
    """Whether one result passes."""
    return not result.is_beyond and _is_kind_allowed(result, policy)


def _growth(beyond: Sequence[Result]) -> list[str]:
    """The line on kernels that do more work than the policy lets them, with the first of them."""
    if not beyond:
        return []
    first, count = beyond[0], len(beyond)
    example = f"{first.key[:SHORT_KEY]} {first.name}: {first.excess}"
    return [f"{count} {_records(count)} beyond the limits of growth, as {example}"]


def _is_kind_allowed(result: Result, policy: Policy) -> bool:
    is_approved = result.approval is not None
    return _allows(policy, result.outcome, result.numerics, is_approved=is_approved)


def _allows(
    policy: Policy, outcome: Outcome, numerics: Numerics | None, *, is_approved: bool
) -> bool:
    if kind_of(outcome, numerics) in policy.allow:
        return True
    if numerics is not None and numerics not in policy.numerics:
        return False
    return outcome.value in policy.allow or is_approved


def _with_approval(result: Result, ledger: Ledger) -> Result:
    assert result.old is not None
    assert result.new is not None
    if never_approved(result):
        return result
    pair = (digest_of(result.old), digest_of(result.new))
    if (approval := ledger.find(*pair)) is not None:
        return msgspec.structs.replace(result, approval=approval.reason)
    if (over := ledger.expired.get(pair)) is not None:
        return msgspec.structs.replace(result, lapsed=over.until)
    return result


def _unmarked(result: Result) -> Result:
    if result.approval is None and result.lapsed is None:
        return result
    return msgspec.structs.replace(result, approval=None, lapsed=None)


def _lapsed(results: Sequence[Result], policy: Policy) -> list[str]:
    """The line on approvals that ran out, with the last day of the last of them."""
    days = [each.lapsed for each in results if each.lapsed and not is_allowed(each, policy)]
    if not days:
        return []
    noun = "the approval of 1 record" if len(days) == 1 else f"the approvals of {len(days)} records"
    return [f"{noun} ran out, the last on {max(days)}"]


def _records(count: int) -> str:
    return "record is" if count == 1 else "records are"
