"""Every elementwise op on arrays, exactly as docs/ir.md has it. To add one: a line in a table."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
    Op,
    wrap,
)  # fmt: skip

Array: TypeAlias = npt.NDArray[Any]  # the element type is known at run time only

_NUMPY: dict[DType, np.dtype[Any]] = {
    BOOL: np.dtype(np.bool_),
    INT8: np.dtype(np.int8),
    INT16: np.dtype(np.int16),
    INT32: np.dtype(np.int32),
    INT64: np.dtype(np.int64),
    UINT8: np.dtype(np.uint8),
    UINT16: np.dtype(np.uint16),
    UINT32: np.dtype(np.uint32),
    UINT64: np.dtype(np.uint64),
    FLOAT16: np.dtype(np.float16),
    BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    FLOAT32: np.dtype(np.float32),
    FLOAT64: np.dtype(np.float64),
}


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of an array of `dtype` (of its lanes, for a vector)."""
    return _NUMPY[dtype.scalar]


def apply(op: Op, dtype: DType, source: DType, *values: Array) -> Array:
    """`op` on arrays of dtype `source`, giving `dtype`; lanes of vectors are an array dimension."""
    dtype, source = dtype.scalar, source.scalar
    with np.errstate(all="ignore"):
        if op is _CAST:
            return cast(values[0], source, dtype)
        if op is _BITCAST:
            return np.asarray(values[0]).view(_NUMPY[dtype])
        if dtype.is_float and op in _FLOAT:
            return round_to(dtype, _FLOAT[op](*[widen(value) for value in values]))
        if dtype.is_float and op is _MULACC:
            return fused_multiply_add(dtype, *values)
        return np.asarray(_EXACT[op](*values))


def identity(op: Op, dtype: DType) -> int | float | bool:
    """The value that changes nothing under the reduction `op`."""
    match op:
        case Op.MUL:
            return 1.0 if dtype.is_float else 1
        case Op.MAX:
            return dtype.lowest
        case Op.MIN:
            return dtype.highest
        case Op.AND:
            return True if dtype.scalar is BOOL else wrap(dtype.scalar, -1)
        case _:  # -0.0 + x is x, also where x is -0.0
            return -0.0 if dtype.is_float else (False if dtype.scalar is BOOL else 0)


def widen(value: Array) -> Array:
    """16-bit floats as float64, where one operation on them rounds innocuously; others as is."""
    return value.astype(np.float64) if value.dtype.itemsize == 2 else value


def round_to(dtype: DType, value: Array) -> Array:
    """Float values rounded once to a float dtype, ties to even."""
    target = _NUMPY[dtype]
    if dtype is BFLOAT16 and value.dtype != target:
        return _to_bfloat16(np.asarray(value, np.float64))
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(target, copy=False)


def _to_bfloat16(value: Array) -> Array:
    """Rounds to odd in float32 first: then the second rounding cannot see a false tie."""
    with np.errstate(all="ignore"):
        single = np.asarray(value.astype(np.float32))
    back = single.astype(np.float64)
    inexact = np.isfinite(single) & (back != value)
    bits = single.view(np.uint32) - (inexact & (np.abs(back) > np.abs(value)))
    odd = np.asarray(bits | inexact, np.uint32)
    return np.asarray(odd.view(np.float32).astype(ml_dtypes.bfloat16))


# --- casts ---


def cast(value: Array, source: DType, target: DType) -> Array:
    """CAST: integers wrap, floats to integers truncate and saturate (NaN is 0), bool is x != 0."""
    value = np.asarray(value)
    if source is target:
        return value
    if target is BOOL:
        return np.asarray(value != 0)
    if target.is_float:
        return _to_float(value, source, target)
    return _saturate(value, target) if source.is_float else value.astype(_NUMPY[target])


def _to_float(value: Array, source: DType, target: DType) -> Array:
    if source.is_float or source is BOOL:
        return round_to(target, value.astype(np.float64))
    if target.bits > 16:
        return value.astype(_NUMPY[target])
    if source.bits == 64:  # keep what a 16-bit float can see of it: 53 bits, the last one sticky
        low = value & 0xFFF
        sticky = value - low + ((low != 0) * value.dtype.type(0x800))
        value = np.where(np.abs(value.astype(np.float64)) > 2.0**40, sticky, value)
    return round_to(target, value.astype(np.float64))


def _saturate(value: Array, target: DType) -> Array:
    low, high = int(target.lowest), int(target.highest)
    whole = np.trunc(value.astype(np.float64))
    inside = (whole >= low) & (whole < float(high + 1))
    result = np.where(inside, whole, 0.0).astype(_NUMPY[target])
    result = np.where(whole >= float(high + 1), np.asarray(high, _NUMPY[target]), result)
    return np.where(whole < low, np.asarray(low, _NUMPY[target]), result)


# --- fused multiply-add ---


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The float64 sum and its exact rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The float64 product and its rounding error, exact without over- and underflow (Dekker)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _add_to_odd(a: Array, b: Array) -> Array:
    """The float64 sum rounded to odd: rounding that again gives what one rounding would give."""
    total, error = two_sum(a, b)
    total = np.asarray(total)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    return np.where(
        inexact & even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total
    )


def fused_multiply_add(dtype: DType, a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding.

    Source for float64: Boldo & Melquiond 2008, emulation of FMA by rounding to odd.
    """
    x, y, z = (np.asarray(value, np.float64) for value in (a, b, c))
    with np.errstate(all="ignore"):
        if dtype.bits < 64:
            return round_to(dtype, _add_to_odd(x * y, z))
        return _fma64(x, y, z)


def _fma64(x: Array, y: Array, z: Array) -> Array:
    high, low = two_product(x, y)
    middle, rest = two_sum(z, low)
    top, below = two_sum(high, middle)
    result = np.asarray(top + _add_to_odd(rest, below))
    # no part of the transformation may leave the normal range
    safe = (np.abs(high) > 2.0**-900) & (np.abs(high) < 2.0**900) & (np.abs(z) < 2.0**900)
    safe &= (np.abs(x) < 2.0**900) & (np.abs(y) < 2.0**900)
    safe &= (np.abs(z) > 2.0**-900) | (z == 0)
    return result if bool(np.all(safe)) else np.where(safe, result, _slow_fma(x, y, z))


def _slow_fma(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(np.frompyfunc(_fma_one, 3, 1)(x, y, z), np.float64)


def _fma_one(x: float, y: float, z: float) -> float:
    if math.isinf(z) and math.isfinite(x) and math.isfinite(y):
        return z
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)) or x == 0 or y == 0:
        return float(np.float64(x) * np.float64(y) + np.float64(z))
    (xn, xd), (yn, yd), (zn, zd) = (value.as_integer_ratio() for value in map(float, (x, y, z)))
    numerator, denominator = xn * yn * zd + zn * xd * yd, xd * yd * zd
    if numerator == 0:
        return 0.0
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


# --- integers and selections ---


def _idiv(a: Array, b: Array) -> Array:
    divisor = np.where(b == 0, np.ones_like(b), b)
    quotient = np.floor_divide(a, divisor)
    inexact = (quotient * divisor != a) & ((a < 0) != (divisor < 0))
    return np.where(b == 0, np.zeros_like(a), quotient + inexact.astype(quotient.dtype))


def _mod(a: Array, b: Array) -> Array:
    return np.where(b == 0, np.zeros_like(a), a - _idiv(a, b) * b)


def _shl(a: Array, b: Array) -> Array:
    legal = (b >= 0) & (b < 8 * a.dtype.itemsize)
    return np.where(legal, np.left_shift(a, np.where(legal, b, np.zeros_like(b))), np.zeros_like(a))


def _shr(a: Array, b: Array) -> Array:
    legal = (b >= 0) & (b < 8 * a.dtype.itemsize)
    filler = np.where(a < 0, np.full_like(a, -1), np.zeros_like(a)) if a.dtype.kind == "i" else 0
    shifted = np.right_shift(a, np.where(legal, b, np.zeros_like(b)))
    return np.where(legal, shifted, np.asarray(filler, a.dtype))


def _max(a: Array, b: Array) -> Array:
    return np.where((a > b) | (a != a), a, b)  # NaN propagates


def _min(a: Array, b: Array) -> Array:
    return np.where((a < b) | (a != a), a, b)  # NaN propagates


# --- functions ---


def transcendental(function: Callable[..., Array]) -> Callable[..., Array]:
    """`function` in a wider type: rounded to the arguments' type it is nearly always right."""

    def evaluate(*values: Array) -> Array:
        wide = np.longdouble if values[0].dtype.itemsize == 8 else np.float64
        return np.asarray(function(*[value.astype(wide) for value in values]))

    return evaluate


def _erf(value: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(value.astype(np.float64)), np.float64)


def _pow(base: Array, exponent: Array) -> Array:
    """C's pow. NumPy's float64 loop takes square roots for an exponent of 0.5, and loses -inf."""
    return np.asarray(np.power(base.astype(np.longdouble), exponent.astype(np.longdouble)))


FUNCTIONS: dict[Op, Callable[..., Array]] = {
    Op.EXP2: np.exp2,
    Op.LOG2: np.log2,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.TANH: np.tanh,
    Op.ERF: _erf,
    Op.POW: _pow,
}
_FLOAT: dict[Op, Callable[..., Array]] = {  # on floats of at least 32 bits; the caller rounds
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.FDIV: np.divide,
    Op.SQRT: np.sqrt,
    Op.TRUNC: np.trunc,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.RINT: np.rint,
    **{op: transcendental(function) for op, function in FUNCTIONS.items()},
}
_EXACT: dict[
    Op, Callable[..., Array]
] = {  # integers wrap, bools are logical, floats are only selected
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.IDIV: _idiv,
    Op.MOD: _mod,
    Op.NEG: np.negative,
    Op.NOT: np.invert,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.SHL: _shl,
    Op.SHR: _shr,
    Op.MAX: _max,
    Op.MIN: _min,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.WHERE: np.where,
    Op.MULACC: lambda a, b, c: a * b + c,
}
_CAST, _BITCAST, _MULACC = Op.CAST, Op.BITCAST, Op.MULACC
