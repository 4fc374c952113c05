"""The exact meaning of ops in terms of simpler ones. To add one: a function, a line in LOWERINGS.

After these, MAX, MIN, POW, NEG of integers, arithmetic and order of bools are gone, and IDIV, MOD,
SHL, SHR and float-to-int CAST only see operands for which every target gives the same answer.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from compiler.ir import BOOL, FLOAT32, DType, Kind, Node, Op, bounds, const
from compiler.rules.builder import Builder
from compiler.rules.casts import HALVES, lower_cast
from compiler.rules.fold import constant_of

_ADD, _MUL, _MAX, _MIN, _AND = Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.AND
_OR, _XOR = Op.OR, Op.XOR

Lowering: TypeAlias = Callable[[Builder, Node], Node]
FUNCTIONS = (
    Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF, Op.POW,
)  # fmt: skip


@cache
def identity(op: Op, dtype: DType) -> Node:
    """The value that leaves every other unchanged under the reduction `op`, bit for bit."""
    scalar = dtype.scalar
    values: Mapping[Op, int | float | bool] = {
        _ADD: -0.0 if scalar.is_float else 0,  # 0.0 + -0.0 is 0.0, -0.0 + -0.0 is -0.0
        _MUL: 1,
        _MAX: scalar.lowest,
        _MIN: scalar.highest,
        _AND: True if scalar is BOOL else -1,
        _OR: 0,
        _XOR: 0,
    }
    return const(dtype, values[op])


def combine(b: Builder, op: Op, total: Node, value: Node) -> Node:
    """One step of the reduction `op`, lowered."""
    node = b.binary(op, total, value)
    return lower(b, node) if node.op is op else node


def lower(b: Builder, node: Node) -> Node:
    """`node`, whose sources are lowered, by the lowering of its op."""
    lowering = LOWERINGS.get(node.op)
    return node if lowering is None else lowering(b, node)


def lower_max(b: Builder, node: Node) -> Node:
    """a if a > b or a != a else b"""
    x, y = node.src
    if node.dtype.scalar is BOOL:
        return b.or_(x, y)
    return _first_if_less(b, node, y, x)


def lower_min(b: Builder, node: Node) -> Node:
    """a if a < b or a != a else b"""
    x, y = node.src
    if node.dtype.scalar is BOOL:
        return b.and_(x, y)
    return _first_if_less(b, node, x, y)


def _first_if_less(b: Builder, node: Node, low: Node, high: Node) -> Node:
    """The first source where low < high or it is NaN, else the second; they are low and high."""
    x, y = node.src
    if _is_bound(y):  # no NaN: the answer is x just where high is not at most low
        return b.where(b.le(high, low), y, x)
    better = b.lt(low, high)
    if x.dtype.is_float and not _is_bound(x):
        better = b.or_(better, b.ne(x, x))
    return b.where(better, x, y)


def _is_bound(y: Node) -> bool:
    """Whether y is a float that is known, and no NaN."""
    value = constant_of(y)
    return y.dtype.is_float and value is not None and value == value


def lower_neg(b: Builder, node: Node) -> Node:
    """-x = 0 - x for ints; floats keep the sign flip"""
    return node if node.dtype.is_float else b.sub(b.const(node.dtype, 0), node.src[0])


def lower_idiv(b: Builder, node: Node) -> Node:
    """0 where b is 0, 0 - a where b is -1, else a / b"""
    x, y = node.src
    if _is_safe_divisor(x, y):
        return node
    zero, minus_one = b.eq(y, 0), _is_minus_one(b, y)
    quotient = b.idiv(x, b.where(b.or_(zero, minus_one), b.const(y.dtype, 1), y))
    negated = b.sub(b.const(x.dtype, 0), x)
    return b.where(zero, b.const(x.dtype, 0), b.where(minus_one, negated, quotient))


def lower_mod(b: Builder, node: Node) -> Node:
    """a % b, where a divisor of 0 or -1 is replaced by 1: the remainder is 0"""
    x, y = node.src
    if _is_safe_divisor(x, y):
        return node
    unsafe = b.or_(b.eq(y, 0), _is_minus_one(b, y))
    return b.mod(x, b.where(unsafe, b.const(y.dtype, 1), y))


def _is_safe_divisor(x: Node, y: Node) -> bool:
    """Whether x / y neither divides by zero nor overflows."""
    low, high = bounds(y)
    if low <= 0 <= high:
        return False
    overflows = low <= -1 <= high and bounds(x)[0] == int(x.dtype.lowest)
    return not (overflows and x.dtype.kind is Kind.INT)


def _is_minus_one(b: Builder, y: Node) -> Node:
    if y.dtype.kind is Kind.INT:
        return b.eq(y, -1)
    return b.const(BOOL.vec(y.dtype.count), False)  # noqa: FBT003  # the constant false


def lower_shl(b: Builder, node: Node) -> Node:
    """0 where the amount is negative or the width or more"""
    x, amount = node.src
    if _is_safe_amount(amount):
        return node
    inside = _fits_width(b, amount)
    shifted = b.shl(x, b.where(inside, amount, 0))
    return b.where(inside, shifted, 0)


def lower_shr(b: Builder, node: Node) -> Node:
    """0 (-1 for a negative signed x) where the amount is negative or the width or more"""
    x, amount = node.src
    if _is_safe_amount(amount):
        return node
    inside = _fits_width(b, amount)
    if x.dtype.kind is Kind.INT:
        return b.shr(x, b.where(inside, amount, x.dtype.bits - 1))
    return b.where(inside, b.shr(x, b.where(inside, amount, 0)), 0)


def _is_safe_amount(amount: Node) -> bool:
    low, high = bounds(amount)
    return low >= 0 and high < amount.dtype.bits


def _fits_width(b: Builder, amount: Node) -> Node:
    below = b.lt(amount, amount.dtype.bits)
    if amount.dtype.kind is Kind.UINT:
        return below
    return b.and_(b.le(b.const(amount.dtype, 0), amount), below)


def lower_comparison(b: Builder, node: Node) -> Node:
    """Order and equality of bools: false < true"""
    x, y = node.src
    if x.dtype.scalar is not BOOL:
        return node
    match node.op:
        case Op.LT:
            return b.and_(b.not_(x), y)
        case Op.LE:
            return b.or_(b.not_(x), y)
        case Op.EQ:
            return b.not_(b.xor(x, y))
        case _:
            return b.xor(x, y)


def lower_function(b: Builder, node: Node) -> Node:
    """f(x) of a 16-bit float is f in float32, rounded"""
    if node.dtype.scalar not in HALVES:
        return node
    src = tuple([b.cast(x, FLOAT32) for x in node.src])
    return b.cast(b.build(node.op, src[0].dtype, src, node.attr), node.dtype)


LOWERINGS: Mapping[Op, Lowering] = {
    Op.MAX: lower_max,
    Op.MIN: lower_min,
    Op.NEG: lower_neg,
    Op.IDIV: lower_idiv,
    Op.MOD: lower_mod,
    Op.SHL: lower_shl,
    Op.SHR: lower_shr,
    Op.LT: lower_comparison,
    Op.LE: lower_comparison,
    Op.EQ: lower_comparison,
    Op.NE: lower_comparison,
    Op.CAST: lower_cast,
    **dict.fromkeys(FUNCTIONS, lower_function),
}
