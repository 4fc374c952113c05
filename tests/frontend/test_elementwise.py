"""Elementwise operations give NumPy's numbers in NumPy's dtypes."""

import operator

import numpy as np
import pytest

from compiler import Tensor
from compiler.errors import DTypeError, ShapeError

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
DIVISION = [operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor]
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64"]
FLOATS = np.array([1.5, -2.25, 0.0, -0.0, 3e-5, 7.0, -7.5, 1e4], np.float32)
INTS = np.array([5, -5, 7, -7, 0, 1, 127, -128], np.int32)
DIVISORS = np.array([2, 2, -3, -3, 5, -1, 4, 3], np.int32)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, -3.5, 2.0], np.float32)


@pytest.mark.parametrize("op", ARITHMETIC + DIVISION + COMPARISONS)
@pytest.mark.parametrize("other", [DIVISORS, 3, -3, 2.5], ids=["array", "3", "-3", "2.5"])
@pytest.mark.parametrize("array", [FLOATS, INTS], ids=["floats", "ints"])
def test_operators_equal_numpys(tensor, check, op, array, other):
    operand = tensor(other) if isinstance(other, np.ndarray) else other
    check(op(tensor(array), operand), op(array, other))


@pytest.mark.parametrize("op", ARITHMETIC + DIVISION + COMPARISONS)
def test_reflected_operators_equal_numpys(tensor, check, op):
    check(op(7, tensor(DIVISORS)), op(7, DIVISORS))
    check(op(INTS, tensor(DIVISORS)), op(INTS, DIVISORS))


@pytest.mark.parametrize("op", BITS)
def test_bit_operators_equal_numpys(tensor, check, op):
    flags = INTS > 0
    check(op(tensor(INTS), tensor(DIVISORS)), op(INTS, DIVISORS))
    check(op(tensor(flags), tensor(~flags)), op(flags, ~flags))


def test_shifts_equal_numpys(tensor, check):
    check(tensor(INTS) << 3, INTS << 3)
    check(tensor(INTS) >> 1, INTS >> 1)


def test_shifts_by_the_width_leave_the_sign(tensor, check):
    check(tensor(INTS) >> 40, np.where(INTS < 0, -1, 0).astype(np.int32))
    check(tensor(INTS) << 32, np.zeros_like(INTS))


def test_unary_operators_equal_numpys(tensor, check):
    check(-tensor(FLOATS), -FLOATS)
    check(-tensor(INTS), -INTS)
    check(~tensor(INTS), ~INTS)
    check(abs(tensor(INTS)), abs(INTS))


def test_the_absolute_value_of_minus_zero_has_no_sign(tensor):
    assert not np.signbit(abs(tensor(SPECIAL)).numpy()[:2]).any()


def test_integers_wrap(tensor, check):
    edge = np.array([2**31 - 1, -(2**31)], np.int32)
    with np.errstate(over="ignore"):
        check(tensor(edge) + 1, edge + np.int32(1))
        check(tensor(edge) * 3, edge * np.int32(3))
    check(-tensor(edge), np.array([-(2**31) + 1, -(2**31)], np.int32))


def test_integer_division_by_zero_gives_zero(tensor, check):
    zeros = np.zeros_like(INTS)
    check(tensor(INTS) // tensor(zeros), zeros)
    check(tensor(INTS) % tensor(zeros), zeros)


def test_the_least_integer_divided_by_minus_one_wraps(tensor, check):
    least = np.array([-(2**31)], np.int32)
    check(tensor(least) // -1, least)
    check(tensor(least) % -1, np.array([0], np.int32))


@pytest.mark.parametrize("op", DIVISION)
def test_float_division_floors_like_numpy_at_its_edges(tensor, check, op):
    a = np.array([1, -1, 7, -7, 5.5, -5.5, np.inf, 1, 0, -1, 1, np.nan], np.float32)
    b = np.array([0.1, 0.1, 0.1, 0.1, -2, 2, 2, *[np.inf] * 3, 0, 1], np.float32)
    with np.errstate(all="ignore"):
        check(op(tensor(a), tensor(b)), op(a, b))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7])
def test_integer_powers_equal_numpys(tensor, check, exponent):
    check(tensor(INTS) ** exponent, INTS**exponent)
    check(tensor(INTS) ** tensor(np.full(8, exponent, np.int32)), INTS**exponent)


def test_float_powers_are_close_to_numpys(tensor, check):
    size = abs(FLOATS)
    check(tensor(FLOATS) ** 2, FLOATS**2)
    check(tensor(size) ** 0.5, size**0.5)
    check(tensor(size) ** 1.7, size ** np.float32(1.7), rtol=1e-6)


def test_a_negative_power_of_an_integer_is_a_value_error(tensor):
    with pytest.raises(ShapeError, match="int32 to the power -1"):
        tensor(INTS) ** -1


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "sign", "square"])
def test_roundings_equal_numpys(tensor, check, name):
    halves = np.array([0.5, 1.5, -2.5, -0.4, 7.0, np.inf], np.float32)
    check(getattr(tensor(halves), name)(), getattr(np, name)(halves))
    check(getattr(tensor(INTS), name)(), getattr(np, name)(INTS))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
def test_questions_equal_numpys(tensor, check, name):
    check(getattr(tensor(SPECIAL), name)(), getattr(np, name)(SPECIAL))


@pytest.mark.parametrize("name", ["maximum", "minimum", "logical_and", "logical_or", "logical_xor"])
def test_pairs_equal_numpys(tensor, check, name):
    other = SPECIAL[::-1].copy()
    check(getattr(tensor(SPECIAL), name)(tensor(other)), getattr(np, name)(SPECIAL, other))


def test_clip_takes_one_bound_or_both(tensor, check):
    check(tensor(FLOATS).clip(-1, 2), FLOATS.clip(-1, 2))
    check(tensor(FLOATS).clip(min=0.5), FLOATS.clip(0.5, None))


def test_where_promotes_and_broadcasts(tensor, check):
    cond = np.array([[True], [False]])
    check(Tensor.where(tensor(cond), tensor(INTS), tensor(FLOATS)), np.where(cond, INTS, FLOATS))
    check(Tensor.where(tensor(cond), tensor(INTS), 0), np.where(cond, INTS, np.int32(0)))
    check(Tensor.where(tensor(cond), 1, 2), np.where(cond, 1, 2))


def test_where_does_not_let_the_other_branch_through(tensor, check):
    bad = np.array([np.nan, np.inf], np.float32)
    check(Tensor.where(tensor([True, False]), tensor(bad), 0.0), np.array([np.nan, 0], np.float32))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_equal_numpys(tensor, check, dtype, target):
    array = np.arange(6).astype(dtype)
    check(tensor(array).astype(target), array.astype(target))


def test_casts_of_floats_out_of_range_saturate(tensor, check):
    array = np.array([300, -300, np.inf, -np.inf, np.nan], np.float32)
    check(tensor(array).astype("int8"), np.array([127, -128, 127, -128, 0], np.int8))
    check(tensor(array).astype("uint8"), np.array([255, 0, 255, 0, 0], np.uint8))


def test_shapes_that_do_not_broadcast_are_a_value_error_that_names_them(tensor):
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(4,\)"):
        tensor(np.zeros((2, 3))) + tensor(np.zeros(4))


@pytest.mark.parametrize("op", [operator.and_, operator.lshift])
def test_bit_operations_on_floats_are_a_type_error_that_names_the_dtype(tensor, op):
    with pytest.raises(DTypeError, match="float32"):
        op(tensor(FLOATS), tensor(FLOATS))


def test_in_place_operators_change_what_the_tensor_stands_for(tensor, check):
    x = tensor(INTS)
    x += 1
    x *= 2
    check(x, (INTS + 1) * 2)


def test_in_place_operators_do_not_change_the_dtype(tensor):
    x = tensor(INTS)
    with pytest.raises(DTypeError, match="int32 cannot hold the float64"):
        x /= 2
