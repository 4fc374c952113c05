"""How the gradient of an elementwise value becomes that of its sources.

A rule gets the gradient and the value. None: the source does not change the value, or by steps.
"""

import math
from collections.abc import Callable, Mapping

from compiler.frontend import graph
from compiler.frontend.formulas import Rule, weighed, zero_kept
from compiler.frontend.functions.elementwise import (
    add,
    constant,
    divide,
    equal,
    greater,
    logical_and,
    logical_or,
    multiply,
    negative,
    not_equal,
    square,
    subtract,
    where,
)
from compiler.frontend.functions.floats import cos, exp, log, sin
from compiler.frontend.graph import Kind, Value
from compiler.ir import Op

_LN_2 = math.log(2.0)
_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def _zero(x: Value) -> Value:
    return constant(x, 0)


def _of_the_winner(g: Value, value: Value, place: int) -> Value:
    """Of MAX and MIN: all to the one that was taken; of two equal ones half to each.

    A constant takes all at equality: relu and clip are flat at their ends.
    """
    a, b = value.src
    first = greater(a, b) if value.arg is Op.MAX else greater(b, a)
    takes_first = logical_or(first, not_equal(a, a))
    whole = where(takes_first, g, _zero(g)) if place == 0 else where(takes_first, _zero(g), g)
    has_constant = Kind.CONST in (a.kind, b.kind)
    return where(equal(a, b), _zero(g) if has_constant else multiply(g, 0.5), whole)


def _power_by_base(g: Value, value: Value) -> Value:
    """b * a ** (b - 1), and 0 for an exponent of 0, also where a is 0."""
    a, b = value.src
    slope = multiply(b, graph.elementwise(Op.POW, a, subtract(b, 1.0)))
    return weighed(g, where(equal(b, 0.0), _zero(b), slope))


def _power_by_exponent(g: Value, value: Value) -> Value:
    """y * log a; 0 where the base is 0, which it stays for every exponent nearby."""
    a, b = value.src
    is_flat = logical_and(equal(a, 0.0), greater(b, 0.0))
    base = where(is_flat, constant(a, 1.0), a)
    return weighed(g, where(is_flat, _zero(a), multiply(value, log(base))))


def _by_factor(place: int) -> Rule:
    """Times the other factor. Sums of products stay as they are, and fast: 0 * inf is NaN there."""

    def rule(g: Value, value: Value) -> Value:
        other = value.src[1 - place]
        is_repeated = Kind.EXPAND in (value.src[0].kind, value.src[1].kind)
        is_summed = g.kind is Kind.EXPAND and is_repeated
        return multiply(g, other) if is_summed else weighed(g, other)

    return rule


def _steep(slope: Callable[[Value], Value]) -> tuple[Rule]:
    """Of one source: times a slope, which may be infinite or NaN."""
    return (lambda g, y: weighed(g, slope(y)),)


def _scaled(g: Value, scale: float) -> Value:
    return multiply(g, scale)


RULES: Mapping[Op, tuple[Rule | None, ...]] = {
    Op.NEG: (lambda g, y: negative(g),),
    Op.SQRT: (lambda g, y: zero_kept(g, divide(g, multiply(y, 2.0))),),
    Op.EXP2: _steep(lambda y: _scaled(y, _LN_2)),
    Op.LOG2: (lambda g, y: zero_kept(g, divide(g, _scaled(y.src[0], _LN_2))),),
    Op.SIN: _steep(lambda y: cos(y.src[0])),
    Op.COS: _steep(lambda y: negative(sin(y.src[0]))),
    Op.TAN: _steep(lambda y: add(square(y), 1.0)),
    Op.TANH: _steep(lambda y: subtract(1.0, square(y))),
    Op.ERF: _steep(lambda y: _scaled(exp(negative(square(y.src[0]))), _TWO_OVER_ROOT_PI)),
    Op.TRUNC: (None,),
    Op.FLOOR: (None,),
    Op.CEIL: (None,),
    Op.RINT: (None,),
    Op.CAST: (lambda g, y: graph.cast(g, y.src[0].dtype),),
    Op.BITCAST: (None,),
    Op.ADD: (lambda g, y: g, lambda g, y: g),
    Op.SUB: (lambda g, y: g, lambda g, y: negative(g)),
    Op.MUL: (_by_factor(0), _by_factor(1)),
    Op.FDIV: (
        lambda g, y: zero_kept(g, divide(g, y.src[1])),
        lambda g, y: negative(weighed(g, divide(y, y.src[1]))),
    ),
    Op.MAX: (lambda g, y: _of_the_winner(g, y, 0), lambda g, y: _of_the_winner(g, y, 1)),
    Op.MIN: (lambda g, y: _of_the_winner(g, y, 0), lambda g, y: _of_the_winner(g, y, 1)),
    Op.POW: (_power_by_base, _power_by_exponent),
    Op.WHERE: (
        None,
        lambda g, y: where(y.src[0], g, _zero(g)),
        lambda g, y: where(y.src[0], _zero(g), g),
    ),
    Op.MULACC: (
        _by_factor(0),
        _by_factor(1),
        lambda g, y: g,
    ),
}
