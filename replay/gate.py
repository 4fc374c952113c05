"""Whether a replay passes. Fails closed: what was not replayed, or not understood, is no pass."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from replay.approvals import Ledger
from replay.diff import digest_of
from replay.outcome import NO_ANSWER, Numerics, Outcome, Result, kind_of
from replay.policy import Policy, minimum_of

_NOT_REPLAYED = (Outcome.SKIPPED, Outcome.UNREADABLE, Outcome.MISSING, Outcome.NEW)
_NEVER_APPROVED = (*NO_ANSWER, Outcome.NONDETERMINISTIC)


class Gate(msgspec.Struct, frozen=True):
    """The verdict, and each reason against it in one line."""

    passed: bool
    why: tuple[str, ...]


def with_approvals(results: Sequence[Result], ledger: Ledger) -> tuple[Result, ...]:
    """Mark the differences that the ledger approves. Wrong numbers are never approved by it."""
    return tuple(
        result if result.old is None or result.new is None else _with_approval(result, ledger)
        for result in results
    )


def pass_or_fail(
    results: Sequence[Result], policy: Policy, *, lost: int = 0, damage: Sequence[str] = ()
) -> Gate:
    """Apply the policy to every result and to the whole."""
    why: list[str] = []
    counts = Counter((each.outcome, each.numerics, each.approval is None) for each in results)
    refused: Counter[str] = Counter()
    for (outcome, numerics, is_open), count in counts.items():
        if not _allows(policy, outcome, numerics, is_approved=not is_open):
            refused[kind_of(outcome, numerics)] += count
    why += [f"{count} {_records(count)} {kind}" for kind, count in sorted(refused.items())]
    replayed = sum(n for (outcome, _, _), n in counts.items() if outcome not in _NOT_REPLAYED)
    minimum = minimum_of(policy, total=len(results))
    if replayed < minimum:
        why.append(f"{replayed} of {len(results)} records were replayed, the minimum is {minimum}")
    if lost and not policy.allow_incomplete:
        why.append(f"the corpus is incomplete: {lost} {_records(lost)} lost since it was captured")
    why += [f"the corpus is damaged: {line}" for line in damage]
    return Gate(passed=not why, why=tuple(why))


def is_allowed(result: Result, policy: Policy) -> bool:
    """Whether one result passes."""
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
    if result.outcome in _NEVER_APPROVED or result.numerics is Numerics.WRONG:
        return result
    pair = (digest_of(result.old), digest_of(result.new))
    if (approval := ledger.find(*pair)) is not None:
        return msgspec.structs.replace(result, approval=approval.reason)
    if (over := ledger.expired.get(pair)) is not None:
        reason = f"{result.reason}; its approval ran out on {over.until}"
        return msgspec.structs.replace(result, reason=reason)
    return result


def _records(count: int) -> str:
    return "record is" if count == 1 else "records are"
