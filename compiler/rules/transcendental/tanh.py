"""tanh: a polynomial near 0, else 1 - 2 / (e**(2x) + 1)."""

from compiler.rules.transcendental.coefficients import LOG2_E, LOG2_E_BITS, TANH
from compiler.rules.transcendental.exp2 import power_of_fraction
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    constant,
    flip_sign,
    format_of,
    magnitude,
    nearest,
    polynomial,
    power_of_two,
    sign_bit,
)  # fmt: skip

_SPLIT = 0.75  # the domain of the polynomial ends here


def tanh(x: Expr) -> Expr:
    """The hyperbolic tangent of x."""
    size = magnitude(x)
    z = size * size
    near = size + size * z * polynomial(z, TANH[x.dtype])
    far = 1.0 - 2.0 / (_power_of_e(size) + 1.0)
    return flip_sign((size < _SPLIT).where(near, far), sign_bit(x))


def _power_of_e(x: Expr) -> Expr:
    """e**(2 x) for x >= 0, or less than that where tanh x is 1 anyway."""
    layout = format_of(x)
    limit = float(layout.digits)  # tanh is 1 from 0.35 * digits on
    x = (x > limit).where(limit, x)
    rate = 2 * LOG2_E / (1 << LOG2_E_BITS)
    n = nearest(x * rate)
    period = constant(x.dtype, 1 << LOG2_E_BITS, 2 * LOG2_E)
    rest = (x - n.value * period.head) - n.value * period.tail
    return power_of_fraction(rest * rate) * power_of_two(n)
