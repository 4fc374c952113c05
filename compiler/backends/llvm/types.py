"""Types and constants in the spelling of LLVM's assembly."""

import math
import struct
from functools import cache

from compiler.ir import BFLOAT16, BOOL, DType, Kind

_TRUTH, _REAL = Kind.BOOL, Kind.FLOAT
_FLOATS = {"float16": "half", "bfloat16": "bfloat", "float32": "float", "float64": "double"}
_FLOAT_CODES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


@cache
def type_text(dtype: DType) -> str:
    """The type of a value in a register: i1 for bool, <4 x float> for float32x4."""
    if dtype.count > 1:
        return f"<{dtype.count} x {type_text(dtype.scalar)}>"
    if dtype.kind is Kind.FLOAT:
        return _FLOATS[dtype.name]
    return f"i{dtype.bits}" if dtype.bits else "void"


@cache
def memory_type(dtype: DType) -> str:
    """The type of a value in memory: a bool is one byte."""
    return type_text(dtype).replace("i1", "i8") if dtype.scalar is BOOL else type_text(dtype)


@cache
def suffix(dtype: DType) -> str:
    """The type in the name of an intrinsic: f32, i64, v4f32."""
    scalar = dtype.scalar
    code = _FLOAT_CODES[scalar.name] if scalar.kind is Kind.FLOAT else f"i{scalar.bits}"
    return code if dtype.count == 1 else f"v{dtype.count}{code}"


def zero(dtype: DType) -> str:
    """The zero of an integer type."""
    return "0" if dtype.count == 1 else "zeroinitializer"


def literal(dtype: DType, value: float) -> str:
    """A constant of a scalar dtype, exactly. Every NaN is the one with only its quiet bit set."""
    if dtype.kind is _TRUTH:
        return "true" if value else "false"
    if dtype.kind is not _REAL:
        return str(value)
    if dtype is BFLOAT16:
        return f"0xR{0x7FC0 if math.isnan(value) else _bits('<f', value) >> 16:04X}"
    if dtype.bits == 16:
        return f"0xH{0x7E00 if math.isnan(value) else _bits('<e', value):04X}"
    # a float is written as the double of its value: LLVM refuses one that is not exactly a float
    return f"0x{0x7FF8000000000000 if math.isnan(value) else _bits('<d', value):016X}"


_UNSIGNED = {"<e": "<H", "<f": "<I", "<d": "<Q"}


def _bits(code: str, value: float) -> int:
    return int(struct.unpack(_UNSIGNED[code], struct.pack(code, value))[0])
