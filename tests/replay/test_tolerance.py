"""Comparison with the reference: nothing wrong passes, nothing right fails."""

import math

import numpy as np
import pytest

from compiler.backends.reference import Bound
from replay.numerics.tolerance import Comparison, Severity, compare, digest, same_bits, severity_of


def bound(
    values: object, error: object = 0.0, undecided: object = False, written: object = True
) -> Bound:
    value = np.asarray(values)
    parts = [np.broadcast_to(np.asarray(part), value.shape) for part in (error, undecided, written)]
    return Bound(value, parts[0].astype(np.float64), parts[1].astype(bool), parts[2].astype(bool))


def check(expected: Bound, result: object, dtype: str = "float32") -> Comparison:
    array = np.asarray(result, "uint16" if dtype == "bfloat16" else dtype)
    return compare("out", dtype, expected, array, np.zeros_like(array))


def test_equal_numbers_are_exact():
    found = check(bound([1.0, 2.5]), [1.0, 2.5])
    assert (found.elements, found.exact, found.wrong) == (2, 2, 0)
    assert found.is_right


def test_a_number_within_the_bound_is_bounded_and_its_share_is_noted():
    found = check(bound([1.0, 2.0], error=0.5), [1.25, 2.0])
    assert (found.exact, found.bounded, found.wrong) == (1, 1, 0)
    assert found.worst == 0.5


def test_one_element_beyond_the_bound_is_wrong_wherever_it_is():
    result = np.full(1000, 2.0)
    for index in (0, 500, 999):
        spoiled = result.copy()
        spoiled[index] += 1e-6
        found = check(bound(result, error=1e-7), spoiled)
        assert found.wrong == 1
        assert found.first is not None
        assert found.first.index == index


def test_all_nans_are_one_and_nan_is_no_number():
    bits = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    assert check(bound([math.nan, math.nan]), bits).exact == 2
    found = check(bound([1.0, math.nan], error=100.0), [math.nan, 1.0])
    assert found.wrong == 2
    assert found.severities == ((Severity.STRUCTURE, 2),)


def test_infinity_is_only_infinity():
    found = check(bound([math.inf, math.inf, 1.0]), [math.inf, -math.inf, math.inf])
    assert (found.exact, found.wrong) == (1, 2)


def test_zeros_of_both_signs_are_right_but_not_the_same_bits():
    found = check(bound([0.0, -0.0]), [-0.0, -0.0])
    assert (found.exact, found.bounded, found.wrong) == (1, 1, 0)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_integers_and_bools_are_right_only_if_equal(dtype):
    expected = bound(np.asarray([1, 0], dtype))
    assert check(expected, [1, 0], dtype).exact == 2
    assert check(expected, [1, 1], dtype).wrong == 1


def test_large_integers_are_compared_as_integers():
    value = np.asarray([2**63 + 1], "uint64")
    assert check(bound(value), [2**63 + 2], "uint64").wrong == 1


def test_an_undecided_integer_is_counted_and_not_wrong():
    found = check(bound(np.asarray([5, 7], "int32"), undecided=[True, False]), [6, 7], "int32")
    assert (found.exact, found.undecided, found.wrong) == (1, 1, 0)


def test_an_undecided_float_must_still_be_one_of_its_outcomes():
    expected = bound([3.0], error=1.0, undecided=True)
    assert check(expected, [4.0]).undecided == 1
    assert check(expected, [4.5]).wrong == 1


def test_what_is_not_written_must_stay():
    expected = bound([1.0, 2.0], written=[True, False])
    right = compare("out", "float32", expected, np.float32([1, 9]), np.float32([0, 9]))
    wrong = compare("out", "float32", expected, np.float32([1, 2]), np.float32([0, 9]))
    assert right.is_right
    assert wrong.first is not None
    assert wrong.first.what == "stray write"


@pytest.mark.parametrize(("dtype", "one"), [("float16", 0x3C00), ("bfloat16", 0x3F80)])
def test_16_bit_floats_are_compared_as_numbers(dtype, one):
    bits = np.array([one, one + 1], np.uint16)
    array = bits if dtype == "bfloat16" else bits.view(np.float16)
    found = compare("out", dtype, bound([1.0, 1.0]), array, np.zeros_like(array))
    assert (found.exact, found.wrong) == (1, 1)


def test_a_reference_between_two_numbers_rounds_to_the_exact_one():
    found = check(bound([0.1], error=1e-8), [0.1])
    assert found.exact == 1


def test_severities_are_shares_of_the_expected_value():
    assert severity_of(math.nan, 1.0) is Severity.STRUCTURE
    assert severity_of(2.0, 1.0) is Severity.TOTAL
    assert severity_of(1.5, 1.0) is Severity.LARGE
    assert severity_of(1.05, 1.0) is Severity.MEDIUM
    assert severity_of(1.001, 1.0) is Severity.SMALL
    found = check(bound([1.0, 1.0, 1.0]), [2.0, 1.0001, 1.0002])
    assert found.severities == ((Severity.TOTAL, 1), (Severity.SMALL, 2))


def test_a_digest_sees_every_bit_but_those_of_a_nan():
    x = np.float32([1, math.nan, 0.0])
    other_nan = x.copy()
    other_nan.view(np.uint32)[1] ^= 0x80000001
    negative_zero = np.float32([1, math.nan, -0.0])
    digests = [digest([("out", "float32", a)]) for a in (x, other_nan, negative_zero)]
    assert digests[0] == digests[1] != digests[2]
    assert same_bits({0: x}, {0: other_nan}, {0: "float32"})
    assert not same_bits({0: x}, {0: negative_zero}, {0: "float32"})


def test_a_digest_knows_names_and_dtypes():
    x = np.zeros(4, np.float32)
    digests = {digest([(name, dtype, x)]) for name in "ab" for dtype in ("float32", "int32")}
    assert len(digests) == 4
