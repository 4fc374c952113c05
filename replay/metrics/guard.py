"""The loop-count guard: right numbers do not excuse a kernel that does many times the work."""

from collections.abc import Sequence
from math import inf

import msgspec

from replay.outcome import Result
from replay.policy import Policy

LIMITS = (
    # to add one: the metric, and the field of the policy that says by how much it may grow
    ("iterations", "iterations_factor"),
    ("loads_per_element", "loads_factor"),
)


def guarded(results: Sequence[Result], policy: Policy) -> tuple[Result, ...]:
    """The results; those that grow beyond the policy say so in `excess`."""
    return tuple(_guarded(result, policy) if result.metrics else result for result in results)


def _guarded(result: Result, policy: Policy) -> Result:
    found = (_excess(result, metric, getattr(policy, field)) for metric, field in LIMITS)
    excess = "; ".join(text for text in found if text is not None)
    return msgspec.structs.replace(result, excess=excess or None)


def _excess(result: Result, metric: str, limit: float) -> str | None:
    if metric not in result.metrics:
        return None
    old, new = result.metrics[metric]
    if old is None or limit == inf:
        return None
    if new is None:
        return f"{metric} {old:g}, cannot be told now"
    if new <= limit * old:
        return None
    times = f" (x{new / old:.3g})" if old else ""
    return f"{metric} {old:g} -> {new:g}{times}, at most x{limit:g}"
