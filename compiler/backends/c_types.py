"""Types and constants of languages like OpenCL C 1.2.

A 16-bit float that the device cannot compute with is a ushort: its bits, moved and bitcast.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from compiler.ir import BFLOAT16, BOOL, FLOAT64, DType, Kind

_SCALARS: Mapping[str, str] = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float16": "half",
    "bfloat16": "ushort", "float32": "float", "float64": "double",
}  # fmt: skip
_SHORT = 8  # characters of a decimal constant; longer ones are exact and no shorter in hexadecimal


def type_namer(
    lanes: Sequence[int], *, has_half: bool, has_double: bool = True
) -> Callable[[DType], str | None]:
    """The type of a value in a register, None where there is none: bool vectors, 5 lanes."""

    @cache
    def type_name(dtype: DType) -> str | None:
        scalar = dtype.scalar
        if scalar is FLOAT64 and not has_double:
            return None
        name = _SCALARS[scalar.name] if has_half or scalar.bits != 16 else _bits_name(scalar)
        if dtype.count == 1:
            return name
        return None if scalar is BOOL or dtype.count not in lanes else f"{name}{dtype.count}"

    return type_name


def _bits_name(scalar: DType) -> str:
    return "short" if scalar.kind is Kind.INT else "ushort"


def memory_type(dtype: DType, *, has_half: bool) -> str:
    """The type of an element of a buffer: a bool is a byte."""
    if dtype is BOOL:
        return "uchar"
    return _bits_name(dtype) if dtype.bits == 16 and not has_half else _SCALARS[dtype.name]


def literal_writer(
    bits_as: Callable[[str, str], str], *, has_half: bool
) -> Callable[[DType, float], str]:
    """Constants that need no parentheses around them. `bits_as` is the dialect's."""

    def literal(dtype: DType, value: float) -> str:
        if dtype.kind is Kind.BOOL:
            return "true" if value else "false"
        if not dtype.is_float:
            return _integer(dtype, int(value))
        if dtype is BFLOAT16 or (dtype.bits == 16 and not has_half):
            return str(_half_bits(dtype, value))
        if math.isnan(value):
            return bits_as(*_NANS[dtype.bits])
        return _float(dtype, float(value))

    return literal


_SUFFIXES = {("int", 64): "L", ("uint", 64): "UL", ("uint", 32): "u"}  # ull has 128 bits in PoCL


def _integer(dtype: DType, value: int) -> str:
    suffix = _SUFFIXES.get((dtype.kind.value, dtype.bits), "")
    if dtype.bits >= 32 and value == dtype.lowest and value < 0:
        return f"({value + 1}{suffix}-1)"  # -2147483648 is minus a long
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


_NANS = {
    16: ("half", "(ushort)0x7e00"),
    32: ("float", "0x7fc00000u"),
    64: ("double", "0x7ff8000000000000UL"),
}


def _float(dtype: DType, value: float) -> str:
    suffix = "" if dtype.bits == 64 else "f"
    text = "INFINITY" if math.isinf(value) else _digits(abs(value)) + suffix
    cast = {16: "(half)", 64: "(double)"}.get(dtype.bits, "") if math.isinf(value) else ""
    if dtype.bits == 16:
        cast = "(half)"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return f"({cast}({sign}{text}))" if cast else f"({sign}{text})" if sign else text


def _digits(value: float) -> str:
    short = repr(value)
    if len(short) <= _SHORT and "e" not in short:
        return short
    mantissa, exponent = value.hex().split("p")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}p{exponent}" if fraction else f"{whole}p{exponent}"


def _half_bits(dtype: DType, value: float) -> int:
    if math.isnan(value):
        return 0x7FC0 if dtype is BFLOAT16 else 0x7E00
    if dtype is BFLOAT16:
        return int(struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
    return int(struct.unpack("<H", struct.pack("<e", value))[0])
