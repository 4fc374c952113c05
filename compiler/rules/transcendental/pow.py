"""x ** y as 2 ** (y * log2 |x|), the logarithm and the product in half as many digits again."""

import math

from compiler.rules.transcendental.coefficients import LOG2_E, LOG2_E_BITS, LOG_TAIL
from compiler.rules.transcendental.exp2 import power_of_fraction
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    Pair,
    constant,
    flip_sign,
    format_of,
    head,
    magnitude,
    multiply,
    nearest,
    polynomial,
    scale,
    sign_bit,
    split,
    split_exponent,
)  # fmt: skip


def power(x: Expr, y: Expr) -> Expr:
    """x ** y with the special cases of C: 1 ** y and x ** 0 are 1, (-x) ** y needs an integer y."""
    size = magnitude(x)
    ordinary = _power_of_two(*multiply(_limited(y), _log2(size)))
    is_zero = size.equals(0.0)
    extreme = (is_zero ^ (y < 0.0)).where(x.like(0.0), math.inf)
    result = (is_zero | size.equals(math.inf)).where(extreme, ordinary)
    is_integer = y.rounded().equals(y)
    half = y * 0.5
    is_odd = is_integer & half.rounded().differs(half)
    sign = sign_bit(x)
    result = flip_sign(result, is_odd.where(sign, 0))
    has_no_value = (x < 0.0) & (size < math.inf) & ~is_integer
    is_nan = has_no_value | x.differs(x) | y.differs(y)
    result = is_nan.where(math.nan, result)
    return (x.equals(1.0) | y.equals(0.0)).where(1.0, result)


def _limited(y: Expr) -> Pair:
    """y, or a number whose power of every x but 1 is 0 or inf as well."""
    limit = 2.0 ** (64 if format_of(y).digits == 53 else 32)
    y = (y > limit).where(limit, y)
    y = (y < -limit).where(-limit, y)
    upper = head(y)
    return Pair(upper, y - upper)


def _log2(x: Expr) -> Pair:
    """log2 x, finite x > 0: the exponent plus, with s = (m - 1) / (m + 1), atanh(s) * 2 / ln 2."""
    exponent, m = split_exponent(x)
    s = _quotient(m)
    short = s.head + s.tail
    square = s.head * s.head  # exact; the tail's part of it is in `small`
    small = s.tail * (s.head + short)
    z = square + small
    small += z * z * polynomial(z, [3 * c for c in LOG_TAIL[x.dtype]])
    upper = head(square + small + 3.0)
    series = Pair(upper, small - ((upper - 3.0) - square))  # 3 * atanh(s) / s
    factor = constant(x.dtype, 2 * LOG2_E, 3 << LOG2_E_BITS)
    large, small = multiply(split(*multiply(s, series)), factor)
    upper = head(exponent + (large + small))
    return Pair(upper, small - ((upper - exponent) - large))


def _quotient(m: Expr) -> Pair:
    """(m - 1) / (m + 1) for m in [sqrt 1/2, sqrt 2)."""
    numerator = m - 1.0
    denominator = m + 1.0
    upper = head(denominator)
    lower = (denominator - upper) + (m - (denominator - 1.0))
    inverse = 1.0 / denominator
    quotient = head(numerator * inverse)
    return Pair(quotient, ((numerator - quotient * upper) - quotient * lower) * inverse)


def _power_of_two(large: Expr, small: Expr) -> Expr:
    """2 ** (large + small)."""
    layout = format_of(large)
    highest, lowest = float(layout.bias + 1), float(-layout.bias - layout.digits)
    total = large + small
    is_high, is_low = total > highest, total < lowest
    total = is_high.where(highest, is_low.where(lowest, total))
    n = nearest(total)
    rest = (is_high | is_low).where(total.like(0.0), (large - n.value) + small)
    return scale(power_of_fraction(rest), n)
