"""2**x: the nearest integer to x gives the exponent, a polynomial in the rest the significand."""

from compiler.rules.transcendental.coefficients import EXP2
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import format_of, nearest, polynomial, scale


def power_of_fraction(r: Expr) -> Expr:
    """2**r for |r| <= 1/2."""
    return r * polynomial(r, EXP2[r.dtype]) + 1.0


def exp2(x: Expr) -> Expr:
    """2**x; results above the range are inf, below it 0 or subnormal."""
    layout = format_of(x)
    highest = float(layout.bias + 1)  # 2**highest is inf
    lowest = float(-layout.bias - layout.digits)  # 2**lowest is under half of the least subnormal
    x = (x < lowest).where(lowest, x)
    x = (x > highest).where(highest, x)
    n = nearest(x)
    return scale(power_of_fraction(x - n.value), n)
