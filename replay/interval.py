"""The median of paired measurements, with an interval that no distribution need be known for."""

from collections.abc import Sequence
from math import comb

import msgspec

CONFIDENCE = 0.95


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The time of the new kernel over that of the old: median of rounds, and where it may lie."""

    ratio: float
    low: float
    high: float
    coverage: float  # the probability that such an interval holds the true median, at least
    rounds: int

    @property
    def verdict(self) -> str:
        """Helped or hurt only where the interval excludes 1."""
        if self.high < 1:
            return "helped"
        return "hurt" if self.low > 1 else "undecided"


def median_rank(count: int, confidence: float = CONFIDENCE) -> tuple[int, float] | None:
    """The greatest rank k, and its coverage, at which x(k) and x(n+1-k) hold the true median.

    The sign test's interval: each value lies below the median with probability 1/2, so that the
    coverage is 1 - 2 * sum(comb(n, i) for i < k) / 2**n. None where n is too small for any rank.
    Source: David and Nagaraja, Order Statistics, 3rd edition 2003, section 7.1.
    """
    best: tuple[int, float] | None = None
    outside = 0
    for rank in range(1, count // 2 + 1):
        outside += comb(count, rank - 1)
        coverage = 1 - 2 * outside / 2**count
        if coverage < confidence:
            break
        best = (rank, coverage)
    return best


def timing_of(ratios: Sequence[float]) -> Timing:
    """Median and interval of the ratios of at least six rounds."""
    found = median_rank(len(ratios))
    assert found is not None
    rank, coverage = found
    ordered = sorted(ratios)
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return Timing(
        ratio=round(median, 6),
        low=round(ordered[rank - 1], 6),
        high=round(ordered[-rank], 6),
        coverage=round(coverage, 6),
        rounds=len(ordered),
    )
