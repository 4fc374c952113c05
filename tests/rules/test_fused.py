"""Folding a * b + c: one rounding, as the devices do it."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.backends.reference.arithmetic import fused_multiply_add
from compiler.ir import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, Op, const, intern
from compiler.rules import Builder

NUMBERS = [0.0, -0.0, 1.0, -1.5, 1e-45, 1e38, -1e38, 2.0**-126, math.inf, -math.inf, math.nan]


def folded(dtype, *values):
    """The constant that a MULACC of constants becomes."""
    src = tuple(const(dtype, value) for value in values)
    node = Builder().build(Op.MULACC, dtype, src)
    return node.value, [child.value for child in src]


def same(a, b):
    return str(float(a)) == str(float(b))


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=str)
@given(data=st.lists(st.floats() | st.floats(-8, 8), min_size=3, max_size=3))
def test_a_folded_product_and_sum_is_what_the_reference_computes(dtype, data):
    found, values = folded(dtype, *data)
    assert same(found, fused_multiply_add(dtype, *values)), values


def test_a_product_that_alone_would_round_to_the_middle_is_not_rounded_before_it_is_added():
    a, c = 1.0 + 2.0**-12, 2.0**-48  # a * a ends in 2**-24, half of the last digit of float32
    assert folded(FLOAT32, a, a, c)[0] == np.float32(1.0 + 2.0**-11 + 2.0**-23)
    assert folded(FLOAT32, a, a, -c)[0] == np.float32(1.0 + 2.0**-11)


@pytest.mark.parametrize("a", NUMBERS)
@pytest.mark.parametrize("b", [0.0, -1.0, 3.0, math.inf])
def test_infinities_zeros_and_their_signs_are_those_of_ieee(a, b):
    for c in NUMBERS:
        found, values = folded(FLOAT64, a, b, c)
        assert same(found, fused_multiply_add(FLOAT64, *values)), values


def test_integers_wrap():
    assert folded(INT8, 100, 2, 60)[0] == struct.unpack("b", bytes([260 % 256]))[0]


def test_a_fused_product_of_what_is_no_constant_stays():
    x = intern(Op.ACC, FLOAT32, (), (0,))
    node = intern(Op.MULACC, FLOAT32, (x, const(FLOAT32, 2.0), const(FLOAT32, 1.0)))
    assert Builder().build(node.op, node.dtype, node.src) is node
