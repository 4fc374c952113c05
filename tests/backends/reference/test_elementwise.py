"""Every op on arrays, against what docs/ir.md says of it."""

import math
import struct
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.reference.arithmetic import (
    apply,
    fused_multiply_add,
    numpy_dtype,
    round_to,
)
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT64,
    DType,
    Op,
)  # fmt: skip
from compiler.ir import round_to as round_scalar


def run(op: Op, dtype: DType, *values: object, source: DType | None = None) -> list[object]:
    source = source or dtype
    arrays = [np.asarray(value, numpy_dtype(source)) for value in values]
    return apply(op, dtype, source, *arrays).tolist()


def test_integers_wrap():
    assert run(Op.ADD, INT8, [127, -128], [1, -1]) == [-128, 127]
    assert run(Op.MUL, UINT8, [200], [3]) == [88]
    assert run(Op.NEG, INT32, [-(2**31)]) == [-(2**31)]
    assert run(Op.NEG, UINT8, [1]) == [255]
    assert run(Op.MULACC, INT8, [100], [2], [100]) == [44]


def test_division_truncates():
    assert run(Op.IDIV, INT32, [7, -7, 7, -7], [2, 2, -2, -2]) == [3, -3, -3, 3]
    assert run(Op.MOD, INT32, [7, -7, 7, -7], [2, 2, -2, -2]) == [1, -1, 1, -1]


def test_division_by_zero_gives_zero_and_int_min_by_minus_one_wraps():
    assert run(Op.IDIV, INT64, [5, -(2**63)], [0, -1]) == [0, -(2**63)]
    assert run(Op.MOD, INT64, [5, -(2**63)], [0, -1]) == [0, 0]


def test_shifts_by_the_width_or_a_negative_amount_give_zero_or_minus_one():
    assert run(Op.SHL, INT8, [1, 1, 1], [7, 8, -1]) == [-128, 0, 0]
    assert run(Op.SHR, INT8, [-128, -128, -128, 127], [1, 8, -1, 9]) == [-64, -1, -1, 0]
    assert run(Op.SHR, UINT64, [2**64 - 1, 2**64 - 1], [63, 64]) == [1, 0]


def test_max_keeps_nan_and_picks_the_second_of_two_zeros():
    first = apply(
        Op.MAX,
        FLOAT32,
        FLOAT32,
        np.float32([math.nan, 1, 0.0, -0.0]),
        np.float32([1, math.nan, -0.0, 0.0]),
    )
    assert np.isnan(first[:2]).all()
    assert np.signbit(first[2:]).tolist() == [True, False]


def test_comparisons_with_nan_are_false_and_not_equal_is_true():
    nan = [math.nan]
    assert [run(op, BOOL, nan, nan, source=FLOAT32) for op in (Op.LT, Op.LE, Op.EQ)] == [
        [False]
    ] * 3
    assert run(Op.NE, BOOL, nan, nan, source=FLOAT32) == [True]


def test_bool_not_and_max_are_logical():
    assert run(Op.NOT, BOOL, [True, False]) == [False, True]
    assert run(Op.MAX, BOOL, [True, False], [False, False]) == [True, False]


def test_float_to_int_truncates_saturates_and_turns_nan_into_zero():
    values = [1.9, -1.9, 1e30, -1e30, math.nan, math.inf, -math.inf]
    assert run(Op.CAST, INT32, values, source=FLOAT64) == [
        1,
        -1,
        2**31 - 1,
        -(2**31),
        0,
        2**31 - 1,
        -(2**31),
    ]
    assert run(Op.CAST, UINT64, values, source=FLOAT64) == [1, 0, 2**64 - 1, 0, 0, 2**64 - 1, 0]
    assert run(Op.CAST, INT64, [2.0**63, -(2.0**63), 2.0**62], source=FLOAT64) == [
        2**63 - 1,
        -(2**63),
        2**62,
    ]


def test_int_to_int_wraps_and_bool_is_not_equal_zero():
    assert run(Op.CAST, INT8, [300, -129], source=INT32) == [44, 127]
    assert run(Op.CAST, BOOL, [0.25, -0.0, math.nan], source=FLOAT32) == [True, False, True]


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_a_large_integer_becomes_a_16_bit_float_with_one_rounding(dtype):
    tie = 2**40 + 2**31  # halfway between two bfloat16
    for value in (tie, tie + 1, tie - 1, 2**62 + 2**53 + 1, -(tie + 1), 70000, 65519, 65520):
        assert run(Op.CAST, dtype, [value], source=INT64) == [_nearest(dtype, Fraction(value))]


@cache
def _finite(dtype: DType) -> np.ndarray:
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        every = bits.view(numpy_dtype(dtype)).astype(np.float64)
    return np.unique(every[np.isfinite(every)])


def _nearest(dtype: DType, value: Fraction) -> float:
    """Correct rounding by search over all finite values of a 16-bit float."""
    finite = _finite(dtype)
    top = finite[-1]
    limit = Fraction(float(top)) + Fraction(float(top - finite[-2])) / 2
    if abs(value) >= limit:
        return math.inf if value > 0 else -math.inf
    near = int(np.searchsorted(finite, float(value)))
    candidates = [float(x) for x in finite[max(0, near - 2) : near + 3]]
    distance = min(abs(Fraction(x) - value) for x in candidates)
    best = [x for x in candidates if abs(Fraction(x) - value) == distance]
    even = [
        x for x in best if not int(np.asarray(x).astype(numpy_dtype(dtype)).view(np.uint16)) & 1
    ]
    return even[0] if len(best) > 1 else best[0]


def test_float64_rounds_to_bfloat16_once():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(300) * 2.0 ** rng.integers(-140, 127, 300)
    ties = np.array(
        [1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8, 2.0**-134, 2.0**-134 * 1.0001]
    )
    values = np.concatenate([values, ties, -ties])
    rounded = round_to(BFLOAT16, values).astype(np.float64)
    assert rounded.tolist() == [_nearest(BFLOAT16, Fraction(float(value))) for value in values]
    assert rounded.tolist() == [round_scalar(BFLOAT16, float(value)) for value in values]


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.FDIV], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_16_bit_arithmetic_rounds_once(op, dtype):
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 1 << 16, (2, 400)).astype(np.uint16).view(numpy_dtype(dtype))
    a, b = (
        np.where(np.isfinite(p.astype(np.float32)), p, 1).astype(numpy_dtype(dtype))
        for p in patterns
    )
    b = np.where(b.astype(np.float32) == 0, 1, b).astype(numpy_dtype(dtype))
    exact = {
        Op.ADD: Fraction.__add__,
        Op.SUB: Fraction.__sub__,
        Op.MUL: Fraction.__mul__,
        Op.FDIV: Fraction.__truediv__,
    }
    wanted = [
        _nearest(dtype, exact[op](Fraction(float(x)), Fraction(float(y))))
        for x, y in zip(a, b, strict=True)
    ]
    assert apply(op, dtype, dtype, a, b).astype(np.float64).tolist() == wanted


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_multiply_accumulate_rounds_once(dtype):
    rng = np.random.default_rng(2)
    kind = numpy_dtype(dtype)
    x, y = rng.standard_normal((2, 500)).astype(kind)
    z = (-(x * y) * (1 + rng.integers(-2, 3, 500) * 2.0**-20)).astype(kind)
    z[:100] *= kind.type(2.0**-30)
    got = fused_multiply_add(dtype, x, y, z)
    for a, b, c, result in zip(x, y, z, got, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        double = exact.numerator / exact.denominator
        assert float(result) == (double if dtype is FLOAT64 else _to_float32(exact))


def _to_float32(value: Fraction) -> float:
    near = np.float32(value.numerator / value.denominator)
    around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    distance = [abs(Fraction(float(x)) - value) for x in around]
    best = [x for x, d in zip(around, distance, strict=True) if d == min(distance)]
    even = [x for x in best if not int(x.view(np.uint32)) & 1]
    return float(even[0] if len(best) > 1 else best[0])


def test_multiply_accumulate_of_extreme_doubles_is_right():
    big, tiny = 2.0**1000, 5e-324
    got = fused_multiply_add(
        FLOAT64, np.float64([big, tiny, 1e308, math.inf, 2.0**-600]),
        np.float64([big, 0.5, 10, 0, 2.0**-600]),
        np.float64([-math.inf, tiny, -1e308, 1, 0]),
    )  # fmt: skip
    assert got[0] == -math.inf
    assert got[1] == 1e-323  # 1.5 subnormals, ties to even
    assert got[2] == math.inf
    assert math.isnan(got[3])
    assert got[4] == 0.0


def test_bitcast_keeps_the_bits():
    number = struct.unpack("<i", struct.pack("<f", -1.5))[0]
    assert run(Op.BITCAST, INT32, [-1.5], source=FLOAT32) == [number]
    assert run(Op.BITCAST, BFLOAT16, [0x3FC0], source=UINT16) == [1.5]


def test_functions_are_nearly_correctly_rounded():
    x = np.linspace(-3, 3, 101).astype(np.float32)
    for op, function in (
        (Op.EXP2, lambda v: 2.0**v),
        (Op.SIN, math.sin),
        (Op.TANH, math.tanh),
        (Op.ERF, math.erf),
    ):
        wanted = np.float32([function(float(value)) for value in x])
        assert np.array_equal(apply(op, FLOAT32, FLOAT32, x), wanted)


def test_a_power_follows_c():
    base = [-np.inf, -0.0, -0.0, 1.0, np.nan, -1.0]
    exponent = [0.5, 0.5, -1.0, np.nan, 0.0, np.inf]
    assert run(Op.POW, FLOAT64, base, exponent) == [np.inf, 0.0, -np.inf, 1.0, 1.0, 1.0]
    one = np.full((1,), 0.5, np.float32)
    result = apply(Op.POW, FLOAT32, FLOAT32, np.full((4,), -np.inf, np.float32), one)
    assert result.tolist() == [np.inf] * 4


def test_rint_ties_to_even():
    assert run(Op.RINT, FLOAT32, [0.5, 1.5, 2.5, -0.5]) == [0.0, 2.0, 2.0, -0.0]


def test_bfloat16_arrays_are_those_of_ml_dtypes():
    assert numpy_dtype(BFLOAT16) == ml_dtypes.bfloat16
