"""2**x: the nearest integer to x gives the exponent, a polynomial in the rest the significand."""

from compiler.rules.transcendental.coefficients import EXP2
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    format_of,
    fused_polynomial,
    nearest,
    power_of_two,
)  # fmt: skip

_RAISED = 64  # by so much, exponents of subnormal numbers are those of normal ones


def power_of_fraction(r: Expr, factor: float = 1.0) -> Expr:
    """2**r times a power of two, for |r| <= 1/2."""
    return r.times_plus(fused_polynomial(r, [factor * c for c in EXP2[r.dtype]]), factor)


def exp2(x: Expr) -> Expr:
    """2**x; results above the range are inf, below it 0 or subnormal.

    It is 2**(r + 1) * 2**(n - 1), since 2**n alone may be above the range where the product is not.
    A subnormal result is first computed larger and then rounded, once.
    """
    layout = format_of(x)
    highest = float(layout.bias + 1)  # 2**highest is inf
    lowest = float(-layout.bias - layout.digits)  # 2**lowest is under half of the least subnormal
    x = (x < lowest).where(lowest, x)
    x = (x > highest).where(highest, x)
    is_least = x < float(2 - layout.bias)
    x = is_least.where(x + float(_RAISED), x)
    n = nearest(x, less=1)
    power = power_of_fraction(x - n.value, 2.0) * power_of_two(n)
    return is_least.where(power * 2.0**-_RAISED, power)
