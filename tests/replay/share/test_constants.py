"""What becomes of constants: nothing but the landmarks around them is told, order stays."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, UINT64, round_to
from replay.share.constants import replaced

FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)


@st.composite
def constants(draw):
    """A dtype, and different numbers of it that are not 0."""
    dtype = draw(st.sampled_from((*FLOATS, INT32, UINT64)))
    if dtype.is_float:
        numbers = st.floats(allow_nan=False).map(lambda value: round_to(dtype, value))
    else:
        numbers = st.integers(dtype.lowest, dtype.highest)
    return dtype, draw(st.lists(numbers.filter(bool), unique=True, max_size=12))


@given(constants())
def test_order_signs_and_dtype_stay(drawn):
    dtype, values = drawn
    new = replaced(dtype, values, ())
    ordered = sorted(values)
    moved = [new[value] for value in ordered]
    assert moved == sorted(set(moved))
    assert all(math.copysign(1, a) == math.copysign(1, b) for a, b in new.items())
    in_range = round_to if dtype.is_float else lambda dtype, value: value
    assert all(in_range(dtype, value) == value for value in moved)


@given(constants())
def test_what_has_been_replaced_is_replaced_by_itself(drawn):
    dtype, values = drawn
    once = list(replaced(dtype, values, ()).values())
    assert list(replaced(dtype, once, ()).values()) == once


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_powers_of_two_and_infinities_stay(dtype):
    landmarks = [1.0, -1.0, 0.5, 64.0, 2.0**-14, math.inf, -math.inf]
    assert replaced(dtype, landmarks, ()) == {value: value for value in landmarks}


def test_small_integers_powers_and_limits_stay():
    landmarks = [1, -1, 3, 64, -64, 1 << 20, (1 << 20) - 1, -(1 << 31), (1 << 31) - 1]
    assert replaced(INT32, landmarks, ()) == {value: value for value in landmarks}


def test_all_numbers_between_two_landmarks_become_the_same_one():
    found = {replaced(FLOAT32, [0.501 + step / 100], ())[0.501 + step / 100] for step in range(49)}
    assert found == {0.75}
    assert {replaced(INT32, [value], ())[value] for value in range(65, 127)} == {95}


def test_a_constant_never_becomes_one_that_stays():
    assert replaced(INT32, [100], [95])[100] not in (95, 100)
