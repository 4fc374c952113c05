"""erf: a polynomial near 0, else 1 - 2**q with a polynomial q."""

from compiler.ir import FLOAT32
from compiler.rules.transcendental.coefficients import ERF, ERFC
from compiler.rules.transcendental.exp2 import power_of_fraction
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    flip_sign,
    magnitude,
    nearest,
    polynomial,
    power_of_two,
    sign_bit,
)  # fmt: skip

_SPLIT = 1.0  # the domain of one polynomial ends and that of the other begins here


def erf(x: Expr) -> Expr:
    """The error function of x."""
    size = magnitude(x)
    near = size + size * polynomial(size * size, ERF[x.dtype])
    limit = 4.0 if x.dtype is FLOAT32 else 6.0  # erf is 1 from here on
    limited = (size > limit).where(limit, size)
    exponent = polynomial(limited - _SPLIT, ERFC[x.dtype])
    n = nearest(exponent)
    far = 1.0 - power_of_fraction(exponent - n.value) * power_of_two(n)
    return flip_sign((size < _SPLIT).where(near, far), sign_bit(x))
