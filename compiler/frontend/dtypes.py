"""NumPy's dtypes and ours, and the dtype of a result: NumPy 2's rules, Python numbers are weak."""

from math import isfinite
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from compiler.errors import DTypeError, NumberError, ShapeError
from compiler.frontend.graph import Number
from compiler.frontend.symbolic import largest, smallest
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
    Kind,
)

DTypeLike: TypeAlias = Any  # a DType, a NumPy dtype, a Python or NumPy type, or a name

ALL: tuple[DType, ...] = (
    BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64,
    FLOAT16, BFLOAT16, FLOAT32, FLOAT64,
)  # fmt: skip
_TO_NUMPY: dict[DType, np.dtype[Any]] = {
    dtype: np.dtype(ml_dtypes.bfloat16 if dtype is BFLOAT16 else dtype.name) for dtype in ALL
}
_FROM_NUMPY = {theirs: ours for ours, theirs in _TO_NUMPY.items()}
_MOST_BITS = 1024  # of an integer that is a finite float64
_INTS = {(Kind.INT, 8): INT8, (Kind.INT, 16): INT16, (Kind.INT, 32): INT32, (Kind.INT, 64): INT64}


def to_numpy(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype of the same name; bfloat16 is ml_dtypes'."""
    return _TO_NUMPY[dtype]


def as_dtype(spec: DTypeLike) -> DType:
    """The DType that `spec` names. Raises DTypeError for one that tensors do not have."""
    if isinstance(spec, DType):
        return spec
    try:
        named = np.dtype("bfloat16" if spec == "bfloat16" else spec)
        found = _FROM_NUMPY.get(named.newbyteorder("="))  # the order of bytes is not of ours
    except (TypeError, ValueError):  # what is no dtype; what has a `dtype` that is none
        found = None
    if found is None:
        names = ", ".join(dtype.name for dtype in ALL)
        raise DTypeError(f"dtype {spec}: tensors have none like it, use one of {names}")
    return found


def promote(a: DType, b: DType) -> DType:
    """The dtype in which both meet, as NumPy has it; bfloat16 goes with integers like float16."""
    if a is b or b is BOOL:
        return a
    if a is BOOL:
        return b
    if a.is_float and b.is_float:
        return _wider(a, b) if a.bits != b.bits else FLOAT32  # float16 and bfloat16
    if a.is_float or b.is_float:
        return _with_integer(a, b) if a.is_float else _with_integer(b, a)
    if a.kind is b.kind:
        return _wider(a, b)
    signed, unsigned = (a, b) if a.kind is Kind.INT else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return _INTS.get((Kind.INT, 2 * unsigned.bits), FLOAT64)


def _wider(a: DType, b: DType) -> DType:
    return a if a.bits >= b.bits else b


def _with_integer(floating: DType, integer: DType) -> DType:
    if integer.bits <= 8:
        return floating
    return _wider(floating, FLOAT32 if integer.bits == 16 else FLOAT64)


def with_number(dtype: DType, number: Number) -> DType:
    """The dtype of `dtype` met by a Python number. Raises NumberError, an OverflowError."""
    if isinstance(number, bool):
        return dtype
    if isinstance(number, float):
        return dtype if dtype.is_float else FLOAT64
    found = INT64 if dtype is BOOL else dtype
    if not is_held(number, found):
        raise NumberError(f"Python integer {_shown(number)} is out of bounds for {found}")
    return found


def is_held(number: int, dtype: DType) -> bool:
    """Whether a Python integer is one of a dtype's numbers, or rounds to one."""
    if dtype.is_int:
        low, high = int(dtype.lowest), int(dtype.highest)
        # A symbolic size is held where its range is: limits of 64 bits are not in its arithmetic.
        is_above = low <= smallest(number) or low <= number
        return is_above and (largest(number) <= high or number <= high)
    return not isinstance(number, int) or number.bit_length() <= _MOST_BITS


def held(number: Number, dtype: DType) -> Number:
    """A number that is to fill elements of `dtype`. Raises like NumPy where it does not fit."""
    if isinstance(number, float) and dtype.is_int:
        if not isfinite(number):
            raise ShapeError(f"fill value {number} of {dtype}: is no integer")
        number = int(number)
    with_number(dtype, number)
    return number


def as_float(number: Number) -> float:
    """A Python number as a float. Raises NumberError, an OverflowError."""
    with_number(FLOAT64, number)
    return float(number)


def _shown(number: int) -> str:
    """Python does not print integers of thousands of digits."""
    is_long = isinstance(number, int) and number.bit_length() > 128
    return f"of {number.bit_length()} bits" if is_long else str(number)


def of_number(number: Number) -> DType:
    """The dtype a Python number has by itself."""
    if isinstance(number, bool):
        return BOOL
    return FLOAT64 if isinstance(number, float) else INT64


def float_of(dtype: DType) -> DType:
    """The dtype of exp, sin, ... of `dtype`, as NumPy has it: small integers give small floats."""
    if dtype.is_float:
        return dtype
    return FLOAT16 if dtype.bits <= 8 else FLOAT32 if dtype.bits <= 16 else FLOAT64


def sum_of(dtype: DType) -> DType:
    """The dtype of a sum or product: integers are as wide as NumPy's default integer."""
    if dtype.is_float:
        return dtype
    return UINT64 if dtype.kind is Kind.UINT else INT64


def accumulator(dtype: DType) -> DType:
    """Where sums are kept until they are rounded to `dtype` once."""
    return FLOAT32 if dtype.is_float and dtype.bits == 16 else dtype
