"""Element types and their vectors. To add one: a line in SCALARS."""

import math
import re
import struct
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

import numpy as np

from compiler.errors import DTypeError

type_names = "bool, int8..int64, uint8..uint64, float16, bfloat16, float32, float64"


class Kind(Enum):
    __hash__ = object.__hash__

    VOID = "void"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"


_FLOAT = Kind.FLOAT
_INTEGERS = frozenset((Kind.INT, Kind.UINT))
_SIGNED = frozenset((Kind.INT, Kind.FLOAT))
_LOWEST = {Kind.BOOL: False, Kind.FLOAT: -math.inf, Kind.VOID: -math.inf}
_HIGHEST = {Kind.BOOL: True, Kind.FLOAT: math.inf, Kind.VOID: math.inf}
_BY_NAME: "dict[str, DType]" = {}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType:
    """One interned element type, compared by `is`; `count` > 1 is a vector. `bits` are per lane."""

    name: str
    kind: Kind
    bits: int
    count: int = 1
    # what follows from the above, looked up far more often than made
    scalar: "DType" = field(init=False)
    is_float: bool = field(init=False)
    is_int: bool = field(init=False)  # signed or unsigned integer; bool is not one
    is_signed: bool = field(init=False)
    itemsize: int = field(init=False)  # bytes of one lane in memory; a bool takes one byte
    lowest: int | float | bool = field(init=False)  # the identity of MAX: -inf for floats
    highest: int | float | bool = field(init=False)  # the identity of MIN: inf for floats

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (parse_dtype, (self.name,))

    def vec(self, count: int) -> "DType":
        """The vector of `count` lanes of this scalar type; count 1 is the scalar itself."""
        if count == self.count:
            return self
        return self.scalar if count == 1 else vector(self.scalar, count)

    def __post_init__(self) -> None:
        is_int, is_signed = self.kind in _INTEGERS, self.kind in _SIGNED
        whole = 1 << self.bits
        facts = {
            "scalar": self if self.count == 1 else _BY_NAME[self.name.rpartition("x")[0]],
            "is_float": self.kind is _FLOAT,
            "is_int": is_int,
            "is_signed": is_signed,
            "itemsize": max(1, self.bits // 8),
            "lowest": (-(whole >> 1) if is_signed else 0) if is_int else _LOWEST[self.kind],
            "highest": (whole >> is_signed) - 1 if is_int else _HIGHEST[self.kind],
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)


SCALARS = (
    VOID := DType("void", Kind.VOID, 0),
    BOOL := DType("bool", Kind.BOOL, 1),
    INT8 := DType("int8", Kind.INT, 8),
    INT16 := DType("int16", Kind.INT, 16),
    INT32 := DType("int32", Kind.INT, 32),
    INT64 := DType("int64", Kind.INT, 64),
    UINT8 := DType("uint8", Kind.UINT, 8),
    UINT16 := DType("uint16", Kind.UINT, 16),
    UINT32 := DType("uint32", Kind.UINT, 32),
    UINT64 := DType("uint64", Kind.UINT, 64),
    FLOAT16 := DType("float16", Kind.FLOAT, 16),
    BFLOAT16 := DType("bfloat16", Kind.FLOAT, 16),
    FLOAT32 := DType("float32", Kind.FLOAT, 32),
    FLOAT64 := DType("float64", Kind.FLOAT, 64),
)
_BY_NAME.update({dtype.name: dtype for dtype in SCALARS})
MAX_LANES = 1024
_SINGLE, _HALF = struct.Struct("<f"), struct.Struct("<e")


@cache
def vector(scalar: DType, count: int) -> DType:
    """The interned vector type of `count` lanes."""
    if count == 1:
        return scalar
    if scalar.kind is Kind.VOID or not 1 < count <= MAX_LANES:
        raise DTypeError(f"vector of {count} {scalar}: use 1 to {MAX_LANES} lanes of a scalar type")
    return DType(f"{scalar.name}x{count}", scalar.kind, scalar.bits, count)


def parse_dtype(text: str) -> DType:
    """The dtype spelled `text`, e.g. float32 or int64x4."""
    base, cross, count = text.rpartition("x")
    if text in _BY_NAME:
        return _BY_NAME[text]
    if cross and base in _BY_NAME and base != "void" and re.fullmatch("[1-9][0-9]{0,3}", count):
        return vector(_BY_NAME[base], int(count))
    raise DTypeError(f"dtype {text!r} is unknown: use one of {type_names}")


def wrap(dtype: DType, value: int) -> int:
    """`value` modulo 2**bits, in the range of an integer dtype."""
    if dtype.lowest <= value <= dtype.highest:
        return value
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value > dtype.highest else value


def round_to(dtype: DType, value: float) -> float:
    """`value` rounded once to a float dtype, ties to even; every NaN becomes one NaN."""
    if math.isnan(value):
        return math.nan
    if dtype.bits == 64:
        return value
    if dtype is BFLOAT16:
        return _round_bfloat16(value)
    layout = _SINGLE if dtype.bits == 32 else _HALF
    try:
        rounded: float = layout.unpack(layout.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _round_bfloat16(value: float) -> float:
    """Round to odd in float32 first: then the second rounding cannot see a false tie."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(value)
    if math.isinf(float(single)) and math.isinf(value):
        return value
    bits = int(single.view(np.uint32))
    error = value - float(single) if math.isfinite(float(single)) else -math.copysign(1.0, value)
    if error != 0.0:  # step toward zero if float32 rounded away from it, then make the last bit odd
        if (error > 0) != (value > 0):
            bits -= 1
        bits |= 1
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])
