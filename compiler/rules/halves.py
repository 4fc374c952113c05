"""16-bit floats in terms of float32 and integers. A half is computed with as an exact float32.

A format is the pair of functions between a float32 and the bits of the half, as a uint16.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.ir import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT16,
    UINT32,
    DType,
    Node,
)
from compiler.rules.builder import Builder
from compiler.rules.casts import float_to_int


@dataclass(frozen=True, slots=True)
class Format:
    """How the bits of a 16-bit float relate to float32; both directions take vectors too."""

    to_bits: Callable[[Builder, Node], Node]  # float32 -> uint16, ties to even, NaN stays NaN
    from_bits: Callable[[Builder, Node], Node]  # uint16 -> float32, exact


def bfloat16_bits(b: Builder, x: Node) -> Node:
    """The upper half of the bits, rounded."""
    bits = b.bitcast(x, UINT32)
    last = b.and_(b.shr(bits, 16), 1)
    rounded = b.shr(b.add(b.add(bits, last), 0x7FFF), 16)
    return b.cast(b.where(b.ne(x, x), b.const(bits.dtype, 0x7FC0), rounded), UINT16)


def bfloat16_value(b: Builder, bits: Node) -> Node:
    return b.bitcast(b.shl(b.cast(bits, UINT32), 16), FLOAT32)


def float16_bits(b: Builder, x: Node) -> Node:
    """Normal numbers lose 13 bits and 112 of the exponent; subnormals are rounded by adding 0.5."""
    bits = b.bitcast(x, UINT32)
    magnitude = b.and_(bits, 0x7FFFFFFF)
    last = b.and_(b.shr(magnitude, 13), 1)
    normal = b.shr(b.add(b.add(magnitude, last), (0xFFF - (112 << 23)) & 0xFFFFFFFF), 13)
    # 0.5 + x has steps of 2**-24, the smallest half: the addition rounds x to them, ties to even
    lifted = b.add(b.bitcast(magnitude, FLOAT32), 0.5)
    subnormal = b.sub(b.bitcast(lifted, UINT32), 0x3F000000)
    finite = b.where(b.lt(magnitude, 113 << 23), subnormal, normal)
    bounded = b.where(b.lt(magnitude, 143 << 23), finite, b.const(bits.dtype, 0x7C00))
    known = b.where(b.lt(b.const(bits.dtype, 0x7F800000), magnitude), 0x7E00, bounded)
    return b.cast(b.or_(known, b.and_(b.shr(bits, 16), 0x8000)), UINT16)


def float16_value(b: Builder, bits: Node) -> Node:
    wide = b.cast(bits, UINT32)
    magnitude = b.shl(b.and_(wide, 0x7FFF), 13)
    # a subnormal is placed behind the leading 1 of 2**-14, which is then subtracted again
    lifted = b.bitcast(b.add(magnitude, 113 << 23), FLOAT32)
    subnormal = b.bitcast(b.sub(lifted, 2.0**-14), UINT32)
    shift = b.where(
        b.le(b.const(wide.dtype, 31 << 23), magnitude), b.const(wide.dtype, 224 << 23), 112 << 23
    )
    known = b.where(b.lt(magnitude, 1 << 23), subnormal, b.add(magnitude, shift))
    return b.bitcast(b.or_(known, b.shl(b.and_(wide, 0x8000), 16)), FLOAT32)


FORMATS: Mapping[DType, Format] = {
    BFLOAT16: Format(bfloat16_bits, bfloat16_value),
    FLOAT16: Format(float16_bits, float16_value),
}


def narrow(b: Builder, x: Node, target: DType) -> Node:
    """A number as a float32 that, rounded to the half type `target`, gives `x` rounded once."""
    source = x.dtype.scalar
    if source is FLOAT64:
        return _to_odd_float32(b, x, b.cast(b.cast(x, FLOAT32), FLOAT64))
    if source.is_int and source.bits > 24 and target is BFLOAT16:
        return _to_odd_float32(b, x, float_to_int(b, b.cast(x, FLOAT32), source))
    return b.cast(x, FLOAT32)  # exact; an int above 2**24 is inf as a float16 either way


def _to_odd_float32(b: Builder, x: Node, back: Node) -> Node:
    """`x` as float32 rounded to odd: no later rounding sees a false tie. `back`: `x` through it."""
    nearest = b.cast(x, FLOAT32)
    bits = b.bitcast(nearest, UINT32)
    zero = b.const(x.dtype, 0)
    too_far = b.where(b.lt(x, zero), b.lt(back, x), b.lt(x, back))  # away from zero
    odd = b.bitcast(b.or_(b.sub(bits, b.cast(too_far, UINT32)), 1), FLOAT32)
    exact = b.eq(back, x)
    if x.dtype.is_float:
        exact = b.or_(exact, b.ne(x, x))
    return b.where(exact, nearest, odd)


def multiply_add(b: Builder, x: Node, y: Node, z: Node) -> Node:
    """x * y + z of float32 that hold halves, as a float64 rounded to odd: the product is exact."""
    product = b.mul(b.cast(x, FLOAT64), b.cast(y, FLOAT64))
    z = b.cast(z, FLOAT64)
    total = b.add(product, z)
    part = b.sub(total, product)
    error = b.add(b.sub(product, b.sub(total, part)), b.sub(z, part))  # Knuth's TwoSum
    zero = b.const(error.dtype, 0.0)
    bits = b.bitcast(total, INT64)
    grows = b.where(b.lt(zero, total), b.lt(zero, error), b.lt(error, zero))
    step = b.where(grows, b.const(bits.dtype, 1), -1)
    is_even = b.eq(b.and_(bits, 1), 0)
    inexact = b.or_(b.lt(error, zero), b.lt(zero, error))  # false where the sum is inf or NaN
    odd = b.bitcast(b.add(bits, step), FLOAT64)
    return b.where(b.and_(inexact, is_even), odd, total)
