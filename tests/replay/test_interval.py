"""The interval of a median, by numbers that are printed in tables of the sign test."""

import pytest

from replay.interval import median_rank, timing_of


@pytest.mark.parametrize(
    ("count", "rank", "coverage"),
    [(6, 1, 0.96875), (9, 2, 0.9609375), (15, 4, 0.96484375), (20, 6, 0.95861053)],
)
def test_the_ranks_are_those_of_the_binomial_distribution(count, rank, coverage):
    found = median_rank(count)
    assert found is not None
    assert found[0] == rank
    assert found[1] == pytest.approx(coverage, abs=1e-8)


def test_five_rounds_are_too_few_for_any_interval():
    assert median_rank(5) is None


def test_the_interval_lies_between_two_of_the_ratios():
    timing = timing_of([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0])
    assert (timing.low, timing.ratio, timing.high) == (2.0, 5.0, 8.0)


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([2.0] * 9, "hurt"),
        ([0.5] * 9, "helped"),
        ([0.5, 2.0] * 5, "undecided"),
        ([1.0] * 9, "undecided"),
    ],
)
def test_a_verdict_needs_an_interval_without_one(ratios, verdict):
    assert timing_of(ratios).verdict == verdict
