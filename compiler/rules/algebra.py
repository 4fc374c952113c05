"""Laws of +, -, *, max and min. A rule never makes the term larger; float laws keep every bit."""

import math

from compiler.ir import COMMUTATIVE, Node, Number, Op, bounds
from compiler.rules.builder import Builder, Constants, Rule
from compiler.rules.fold import constant_of

_ADD, _MUL, _MAX = Op.ADD, Op.MUL, Op.MAX


def _is_minus_zero(value: Number | None) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0


def _is_plus_zero(value: Number | None) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) > 0


def constant_last(b: Builder, node: Node) -> Node | None:
    """c op x = x op c, for commutative ops"""
    x, y = node.src
    if constant_of(x) is not None and constant_of(y) is None:
        return b.build(node.op, node.dtype, (y, x))
    return None


def add_zero(b: Builder, node: Node) -> Node | None:
    """x + 0 = x for ints; x + -0.0 = x for floats (-0.0 + 0.0 is 0.0, so not x + 0.0)"""
    x, y = node.src
    value = constant_of(y)
    if (value == 0 and not node.dtype.is_float) or _is_minus_zero(value):
        return x
    return None


def add_constants(b: Builder, node: Node) -> Node | None:
    """(x + c) + d = x + (c + d) for ints"""
    x, y = node.src
    outer = constant_of(y)
    if node.dtype.is_float or outer is None or x.op is not _ADD:
        return None
    inner = constant_of(x.src[1])
    return None if inner is None else b.add(x.src[0], inner + outer)


def constant_outward(b: Builder, node: Node) -> Node | None:
    """(x + c) + y = (x + y) + c and x + (y + c) = (x + y) + c for ints"""
    x, y = node.src
    if node.dtype.is_float or constant_of(y) is not None:
        return None
    if x.op is _ADD and constant_of(x.src[1]) is not None:
        return b.binary(_ADD, b.add(x.src[0], y), x.src[1])
    if y.op is _ADD and constant_of(y.src[1]) is not None:
        return b.binary(_ADD, b.add(x, y.src[0]), y.src[1])
    return None


def _factor(node: Node) -> tuple[Node, Number]:
    if node.op is _MUL:
        value = constant_of(node.src[1])
        if value is not None:
            return node.src[0], value
    return node, 1


def like_terms(b: Builder, node: Node) -> Node | None:
    """x*c + x*d = x*(c + d) for ints, of which the last is no constant"""
    if node.dtype.is_float or constant_of(node.src[1]) is not None:
        return None
    (x, c), (y, d) = _factor(node.src[0]), _factor(node.src[1])
    return b.mul(x, c + d) if x is y else None


def sub_is_add(b: Builder, node: Node) -> Node | None:
    """x - c = x + -c for ints; x - 0.0 = x for floats; x - x = 0 for ints"""
    x, y = node.src
    value = constant_of(y)
    if node.dtype.is_float:
        return x if _is_plus_zero(value) else None
    if x is y:
        return b.const(node.dtype, 0)
    return None if value is None else b.add(x, -value)


def mul_one(b: Builder, node: Node) -> Node | None:
    """x * 1 = x; x * 0 = 0 for ints (a float x may be NaN, inf or negative)"""
    value = constant_of(node.src[1])
    if value == 1:
        return node.src[0]
    return node.src[1] if value == 0 and not node.dtype.is_float else None


def mul_constants(b: Builder, node: Node) -> Node | None:
    """(x * c) * d = x * (c * d) and (x + c) * d = x*d + c*d for ints"""
    x, y = node.src
    outer = constant_of(y)
    if node.dtype.is_float or outer is None or x.op not in (_MUL, _ADD):
        return None
    inner = constant_of(x.src[1])
    if inner is None:
        return None
    if x.op is _MUL:
        return b.mul(x.src[0], inner * outer)
    return b.add(b.mul(x.src[0], outer), inner * outer)


def divide_by_one(b: Builder, node: Node) -> Node | None:
    """x / 1.0 = x"""
    return node.src[0] if constant_of(node.src[1]) == 1 else None


def double_negation(b: Builder, node: Node) -> Node | None:
    """--x = x, not not x = x"""
    return node.src[0].src[0] if node.src[0].op is node.op else None


def ordered_extremes(b: Builder, node: Node) -> Node | None:
    """max(x, y) = y where x <= y always, for ints; max(x, x) = x"""
    x, y = node.src
    if x is y:
        return x
    if node.dtype.is_float or node.dtype.count > 1:
        return None
    (x_low, x_high), (y_low, y_high) = bounds(x), bounds(y)
    if x_high <= y_low:
        return y if node.op is _MAX else x
    if y_high <= x_low:
        return x if node.op is _MAX else y
    return None


_NEGATIONS = (Op.NEG, Op.NOT)
RULES = (
    Rule(
        "constant-last",
        tuple(op for op in Op if op in COMMUTATIVE),
        constant_last,
        constants=Constants.FIRST,
    ),
    Rule("add-zero", (Op.ADD,), add_zero, constants=Constants.LAST),
    Rule(
        "add-constants",
        (Op.ADD,),
        add_constants,
        constants=Constants.LAST,
        exact=True,
        first=(Op.ADD,),
    ),
    Rule("like-terms", (Op.ADD,), like_terms, constants=Constants.NOT_LAST, exact=True),
    Rule("constant-outward", (Op.ADD,), constant_outward, constants=Constants.NOT_LAST, exact=True),
    Rule("sub-is-add", (Op.SUB,), sub_is_add),
    Rule("mul-one", (Op.MUL,), mul_one, constants=Constants.LAST),
    Rule(
        "mul-constants",
        (Op.MUL,),
        mul_constants,
        constants=Constants.LAST,
        exact=True,
        first=(Op.MUL, Op.ADD),
    ),
    Rule("divide-by-one", (Op.FDIV,), divide_by_one, constants=Constants.LAST),
    Rule("double-negation", _NEGATIONS, double_negation, first=_NEGATIONS),
    Rule("ordered-extremes", (Op.MAX, Op.MIN), ordered_extremes),
)
