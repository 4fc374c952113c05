"""Sine, cosine and tangent: a polynomial on [-pi/4, pi/4], chosen and signed by the quadrant."""

import math

from compiler.rules.transcendental.coefficients import COS, SIN, TAN
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    flip_sign,
    head,
    magnitude,
    polynomial,
    sign_bit,
)  # fmt: skip
from compiler.rules.transcendental.octant import Octant, octant


def sin(x: Expr) -> Expr:
    """The sine of x radians; NaN for inf."""
    found = octant(magnitude(x))
    return _or_nan(flip_sign(_wave(found, found.quadrant), sign_bit(x)), x)


def cos(x: Expr) -> Expr:
    """The cosine of x radians; NaN for inf."""
    found = octant(magnitude(x))
    return _or_nan(_wave(found, found.quadrant + 1), x)


def _or_nan(result: Expr, x: Expr) -> Expr:
    return (magnitude(x) < math.inf).where(result, math.nan)


def _wave(found: Octant, quadrant: Expr) -> Expr:
    """The sine of the angle in `quadrant`, with the part `rest` of it to first order."""
    r, rest = found.angle, found.rest
    z = r * r
    half = z * 0.5
    slope = 1.0 - half
    sine = r + (r * z * polynomial(z, SIN[r.dtype]) + rest * slope)
    lost = (1.0 - slope) - half
    cosine = slope + (lost + (z * z * polynomial(z, COS[r.dtype]) - r * rest))
    is_even = (quadrant & 1).equals(0)
    sign = _as_sign(quadrant, bit=1)
    return flip_sign(is_even.where(sine, cosine), sign)


def _as_sign(quadrant: Expr, bit: int) -> Expr:
    """A bit of the quadrant moved to where floats keep their sign."""
    width = quadrant.dtype.bits
    return (quadrant << (width - 1 - bit)) & int(quadrant.dtype.lowest)


def tan(x: Expr) -> Expr:
    """The tangent of x radians; NaN for inf."""
    found = octant(magnitude(x))
    r, rest = found.angle, found.rest
    z = r * r
    curve = r * z * polynomial(z, TAN[r.dtype])
    large = r + curve
    small = (curve - (large - r)) + rest * (large * large + 1.0)
    tangent = large + small
    upper = head(tangent)
    lower = (large - upper) + small
    inverse = 1.0 / tangent
    short = head(inverse)
    cotangent = short + inverse * ((1.0 - short * upper) - short * lower)
    is_even = (found.quadrant & 1).equals(0)
    sign = _as_sign(found.quadrant, bit=0) ^ sign_bit(x)
    return _or_nan(flip_sign(is_even.where(tangent, cotangent), sign), x)
