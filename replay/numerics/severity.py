"""How far off numbers are: buckets of elements within one kernel."""

from collections import Counter
from collections.abc import Sequence
from math import inf

from replay.numerics.tolerance import Severity
from replay.numerics.verify import Judged

_OUTSIDE = tuple(severity.value for severity in Severity)  # the worst first
ELEMENTS = ("exact", "bounded", "undecided", *reversed(_OUTSIDE))


def elements_of(runs: Sequence[Judged]) -> dict[str, int]:
    """Elements of all runs by how far off they are; every write where none may be is one more."""
    counts: Counter[str] = Counter()
    for run in runs:
        for what in ("exact", "bounded", "undecided"):
            counts[what] += run.count(what)
        for _, comparison in run.comparisons:
            counts.update({severity.value: n for severity, n in comparison.severities})
        counts[Severity.STRUCTURE.value] += len(run.strays)
    return {name: counts[name] for name in ELEMENTS if counts[name]}


def share_of_bound(runs: Sequence[Judged]) -> float | None:
    """The distance of the worst element in bounds: up to 1 is right. None where the bound is 0."""
    shares = [
        max(comparison.worst, comparison.beyond)
        for run in runs
        for _, comparison in run.comparisons
    ]
    worst = max(shares, default=0.0)
    return None if worst == inf else round(worst, 6)
