"""The inverses of the trigonometric and hyperbolic functions.

Source of the reduction and the polynomial of atan: fdlibm's s_atan.c (Sun Microsystems, 1993). The
others come down to atan, log1p and square roots.
"""

import math
from collections.abc import Callable

from compiler.frontend import dtypes, graph
from compiler.frontend.formulas import known, known_slope, weighed
from compiler.frontend.functions.elementwise import (
    abs_,
    add,
    constant,
    copysign,
    divide,
    equal,
    greater,
    less,
    multiply,
    negative,
    signbit,
    square,
    subtract,
    where,
)
from compiler.frontend.functions.floats import as_float, log, log1p, sqrt
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, align

_HALF_PI_LOW = 6.12323399573676603587e-17
# up to which |x|, the point about which it is reduced, and atan of it as two numbers
_REDUCTIONS = (
    (11 / 16, 0.5, 4.63647609000806093515e-01, 2.26987774529616870924e-17),
    (19 / 16, 1.0, 7.85398163397448278999e-01, 3.06161699786838301793e-17),
    (39 / 16, 1.5, 9.82793723247329054082e-01, 1.39033110312309984516e-17),
)
_EVEN = (
    3.33333333333329318027e-01,
    1.42857142725034663711e-01,
    9.09088713343650656196e-02,
    6.66107313738753120669e-02,
    4.97687799461593236017e-02,
    1.62858201153657823623e-02,
)
_ODD = (
    -1.99999999998764832476e-01,
    -1.11111104054623557880e-01,
    -7.69187620504482999495e-02,
    -5.83357013379057348645e-02,
    -3.65315727442169155270e-02,
)
_LARGE = 2.0**28  # from here on sqrt(x * x + 1) is x


def _wide(x: Value, function: Callable[[Value], Value]) -> Value:
    """`function` of `x` in at least float32, rounded once to the result's dtype."""
    x = as_float(x)
    return graph.cast(function(graph.cast(x, dtypes.accumulator(x.dtype))), x.dtype)


def _odd(x: Value, function: Callable[[Value], Value]) -> Value:
    """`function` of |x|, with the sign of x, also of -0.0."""
    return copysign(function(abs_(x)), x)


def atan(x: Value) -> Value:
    """The angle from -pi/2 to pi/2 whose tangent is x."""
    return _wide(
        x,
        lambda v: known_slope(_odd(v, _atan), v, lambda z, y: divide(1.0, add(square(z), 1.0))),
    )


def _atan(x: Value) -> Value:
    """Of x >= 0: atan x = atan c + atan((x - c) / (1 + c x)), and a polynomial of what is left."""
    reduced = divide(-1.0, x)
    highs, lows = constant(x, math.pi / 2), constant(x, _HALF_PI_LOW)
    for limit, centre, high, low in reversed(_REDUCTIONS):
        is_here = less(x, limit)
        quotient = divide(subtract(x, centre), add(multiply(x, centre), 1.0))
        reduced = where(is_here, quotient, reduced)
        highs, lows = where(is_here, high, highs), where(is_here, low, lows)
    is_small = less(x, 7 / 16)
    reduced = where(is_small, x, reduced)
    z = square(reduced)
    w = square(z)
    series = add(multiply(z, _polynomial(w, _EVEN)), multiply(w, _polynomial(w, _ODD)))
    tail = multiply(series, reduced)
    large = subtract(highs, subtract(subtract(tail, lows), reduced))
    return where(is_small, subtract(reduced, tail), large)


def _polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    result = graph.full(coefficients[-1], x.dtype, x.shape, x.device)
    for coefficient in reversed(coefficients[:-1]):
        result = add(multiply(result, x), coefficient)
    return result


def asin(x: Value) -> Value:
    """The angle from -pi/2 to pi/2 whose sine is x; NaN beyond 1."""
    return _wide(
        x,
        lambda v: known_slope(
            _odd(v, lambda a: _atan(divide(a, sqrt(_one_less_square(a))))),
            v,
            lambda z, y: divide(1.0, sqrt(_one_less_square(z))),
        ),
    )


def acos(x: Value) -> Value:
    """The angle from 0 to pi whose cosine is x; NaN beyond 1."""
    return _wide(
        x,
        lambda v: known_slope(
            multiply(_atan(sqrt(divide(subtract(1.0, v), add(v, 1.0)))), 2.0),
            v,
            lambda z, y: divide(-1.0, sqrt(_one_less_square(z))),
        ),
    )


def _one_less_square(x: Value) -> Value:
    return multiply(subtract(1.0, x), add(x, 1.0))


def atan2(x1: Operand, x2: Operand) -> Value:
    """The angle from -pi to pi of the point (x2, x1); the signs of zeros and infinities count."""
    y, x = align(x1, x2)
    y, x = as_float(y), as_float(x)
    wide = dtypes.accumulator(y.dtype)
    return graph.cast(_atan2(graph.cast(y, wide), graph.cast(x, wide)), y.dtype)


def _atan2(y: Value, x: Value) -> Value:
    height, width = abs_(y), abs_(x)
    ratio = where(equal(height, width), where(equal(height, 0.0), 0.0, 1.0), divide(height, width))
    angle = _atan(graph.cast(ratio, y.dtype))
    turned = subtract(math.pi, subtract(angle, 2 * _HALF_PI_LOW))
    return known(
        copysign(where(signbit(x), turned, angle), y),
        (y, x),
        lambda g, _: weighed(g, divide(x, add(square(x), square(y)))),
        lambda g, _: negative(weighed(g, divide(y, add(square(x), square(y))))),
    )


def asinh(x: Value) -> Value:
    """The number whose hyperbolic sine is x."""
    return _wide(
        x,
        lambda v: known_slope(
            _odd(v, _asinh), v, lambda z, y: divide(1.0, sqrt(add(square(z), 1.0)))
        ),
    )


def _asinh(x: Value) -> Value:
    small = where(greater(x, _LARGE), 1.0, x)
    squared = square(small)
    near = log1p(add(small, divide(squared, add(sqrt(add(squared, 1.0)), 1.0))))
    return where(greater(x, _LARGE), add(log(x), math.log(2.0)), near)


def acosh(x: Value) -> Value:
    """The number from 0 whose hyperbolic cosine is x; NaN below 1."""
    return _wide(
        x,
        lambda v: known_slope(_acosh(v), v, lambda z, y: divide(1.0, sqrt(_square_less_one(z)))),
    )


def _square_less_one(x: Value) -> Value:
    return multiply(subtract(x, 1.0), add(x, 1.0))


def _acosh(x: Value) -> Value:
    beyond = subtract(where(greater(x, _LARGE), 1.0, x), 1.0)
    near = log1p(add(beyond, sqrt(multiply(beyond, add(beyond, 2.0)))))
    return where(greater(x, _LARGE), add(log(x), math.log(2.0)), near)


def atanh(x: Value) -> Value:
    """The number whose hyperbolic tangent is x; infinite at 1, NaN beyond."""
    return _wide(
        x,
        lambda v: known_slope(
            _odd(v, lambda a: multiply(log1p(divide(multiply(a, 2.0), subtract(1.0, a))), 0.5)),
            v,
            lambda z, y: divide(1.0, _one_less_square(z)),
        ),
    )


__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"]
