"""A metric over all changed kernels: how many it helped, how many it hurt, and by how much."""

from collections.abc import Iterable, Sequence
from math import exp, fsum, log

import msgspec

from replay.metrics.table import METRICS, Better, Metric
from replay.outcome import Pair, Result

_LOOPS = ("iterations", "code_loops")  # where one of them differs, static counts do not compare


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of the kernels that differ and were measured on both sides.

    `compared` kernels are `affected` if the metric differs; of those, `helped` and `hurt` ones
    differ in the direction that is better, or worse. `other_loops` were left out: their loops
    differ, so that a static count says nothing. `gained` and `lost` are known on one side only.
    `ratio` is the geometric mean of new over old of the kernels compared, where both are above 0.
    """

    name: str
    unit: str
    better: str
    meaning: str
    compared: int
    affected: int
    helped: int
    hurt: int
    other_loops: int
    gained: int
    lost: int
    old_total: float
    new_total: float
    ratio: float | None
    worst: str | None  # the key that it hurt most


def summarize(results: Sequence[Result]) -> tuple[Summary, ...]:
    """Every metric that is known of some result, in the order of the table."""
    known = [result for result in results if result.metrics]
    found = (_summary(metric, known) for metric in METRICS)
    return tuple(summary for summary in found if summary is not None)


def is_hurt(metric: Metric, pair: Pair) -> bool:
    """Whether the new value is worse."""
    old, new = pair
    if old is None or new is None:
        return False
    match metric.better:
        case Better.LOWER:
            return new > old
        case Better.HIGHER:
            return new < old
        case Better.NEITHER:
            return False


def is_helped(metric: Metric, pair: Pair) -> bool:
    """Whether the new value is better."""
    return is_hurt(metric, (pair[1], pair[0]))


def factor(pair: Pair) -> float | None:
    """New over old; None where one is unknown or the old is 0."""
    old, new = pair
    return None if old is None or new is None or not old else new / old


def _summary(metric: Metric, results: Sequence[Result]) -> Summary | None:
    having = [result for result in results if metric.name in result.metrics]
    if not having:
        return None
    both = [result for result in having if None not in result.metrics[metric.name]]
    fair = [result for result in both if not metric.is_static or not has_other_loops(result)]
    pairs = [result.metrics[metric.name] for result in fair]
    return Summary(
        name=metric.name,
        unit=metric.unit,
        better=metric.better.value,
        meaning=metric.meaning,
        compared=len(fair),
        affected=sum(pair[0] != pair[1] for pair in pairs),
        helped=sum(is_helped(metric, pair) for pair in pairs),
        hurt=sum(is_hurt(metric, pair) for pair in pairs),
        other_loops=len(both) - len(fair),
        gained=sum(result.metrics[metric.name][0] is None for result in having),
        lost=sum(result.metrics[metric.name][1] is None for result in having),
        old_total=_total(pair[0] for pair in pairs),
        new_total=_total(pair[1] for pair in pairs),
        ratio=_ratio(pairs),
        worst=_worst(metric, fair),
    )


def has_other_loops(result: Result) -> bool:
    """Whether the two kernels do not run the same loops, as far as is known."""
    pairs = [result.metrics[name] for name in _LOOPS if name in result.metrics]
    return any(old != new for old, new in pairs)


def _total(values: Iterable[float | None]) -> float:
    return round(fsum(value or 0 for value in values), 4)


def _ratio(pairs: Sequence[Pair]) -> float | None:
    factors = [found for pair in pairs if (found := factor(pair))]
    return round(exp(fsum(map(log, factors)) / len(factors)), 6) if factors else None


def _worst(metric: Metric, results: Sequence[Result]) -> str | None:
    hurt = [result for result in results if is_hurt(metric, result.metrics[metric.name])]
    if not hurt:
        return None
    return min(hurt, key=lambda result: (-_harm(metric, result), result.key)).key


def _harm(metric: Metric, result: Result) -> float:
    old, new = result.metrics[metric.name]
    assert old is not None
    assert new is not None
    worse, better = (old, new) if metric.better is Better.HIGHER else (new, old)
    return worse / better if better else float("inf")
