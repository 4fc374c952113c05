"""log2(x): the exponent plus the logarithm of the significand, by the series of atanh."""

import math

from compiler.rules.transcendental.coefficients import LOG, LOG2_E, LOG2_E_BITS
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import constant, head, polynomial, split_exponent


def log2(x: Expr) -> Expr:
    """log2(x); -inf at 0, NaN below.

    With f = m - 1, s = f / (2 + f) and atanh(s) = s + s * z * p(z), z = s**2, the logarithm of m is
    2 * atanh(s) = f - f**2 / 2 + s * (f**2 / 2 + 2 * z * p(z)), whose largest term is exact.
    """
    exponent, m = split_exponent(x)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    rest = s * (half_square + z * polynomial(z, [2 * c for c in LOG[x.dtype]]))
    upper = head(f - half_square)
    lower = ((f - upper) - half_square) + rest
    factor = constant(x.dtype, LOG2_E, 1 << LOG2_E_BITS)
    large = upper * factor.head
    small = (lower + upper) * factor.tail + lower * factor.head
    total = exponent + large
    result = total + (small + ((exponent - total) + large))
    below = x.equals(0.0).where(x.like(-math.inf), math.nan)
    return (x < math.inf).where((x > 0.0).where(result, below), x)
