"""Conversions as every target can do them: in range, between types that it has."""

from compiler.ir import BFLOAT16, BOOL, FLOAT16, FLOAT32, DType, Node, Op
from compiler.rules.builder import Builder

_CAST = Op.CAST

HALVES = (FLOAT16, BFLOAT16)


def lower_cast(b: Builder, node: Node) -> Node:
    """CAST: to bool is x != 0; from float to int saturates; all that is left is in range."""
    x = node.src[0]
    source, target = x.dtype.scalar, node.dtype.scalar
    if target is BOOL:
        return b.ne(x, 0)
    if source.is_float and target.is_int:
        wide = b.cast(x, FLOAT32) if source in HALVES else x
        return float_to_int(b, wide, target)
    return node


def float_to_int(b: Builder, x: Node, target: DType) -> Node:
    """`x` truncated and saturated, NaN -> 0. The conversion itself only ever sees what fits."""
    low, above = float(target.lowest), float(2 ** (target.bits - target.is_signed))
    fits = b.and_(b.le(b.const(x.dtype, low), x), b.lt(x, above))
    safe = b.where(fits, x, b.const(x.dtype, 0.0))
    inside = b.build(_CAST, target.vec(x.dtype.count), (safe,))
    highest = b.const(inside.dtype, target.highest)
    outside = b.where(b.le(b.const(x.dtype, above), x), highest, 0)
    if target.is_signed:
        outside = b.where(b.lt(x, low), b.const(inside.dtype, target.lowest), outside)
    return b.where(fits, inside, outside)
