"""a * b + c of Python floats, rounded once: what MULACC computes."""

import math

from compiler.ir import FLOAT64, DType


def fused(dtype: DType, a: float, b: float, c: float) -> float:
    """a * b + c as a number of `dtype`, or one of float64 that rounds to it."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return c if math.isinf(c) and math.isfinite(a) and math.isfinite(b) else a * b + c
    if a == 0 or b == 0:
        return a * b + c  # the product is exact, and so is its sign
    numerator, denominator = _exact(a, b, c)
    if numerator == 0:
        return 0.0
    try:
        nearest = numerator / denominator  # of two integers Python rounds once
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
    return nearest if dtype is FLOAT64 else _to_odd(nearest, numerator, denominator)


def _exact(a: float, b: float, c: float) -> tuple[int, int]:
    (an, ad), (bn, bd), (cn, cd) = (float(x).as_integer_ratio() for x in (a, b, c))
    return an * bn * cd + cn * ad * bd, ad * bd * cd


def _to_odd(nearest: float, numerator: int, denominator: int) -> float:
    """The neighbour of a quotient that is odd, unless it is exact.

    Rounding that once more gives what rounding the quotient gives, to half the digits or fewer.
    Source: Boldo & Melquiond 2008.
    """
    top, bottom = nearest.as_integer_ratio()
    error = numerator * bottom - top * denominator
    mantissa = int(math.ldexp(math.frexp(nearest)[0], 53))
    if error == 0 or mantissa % 2:
        return nearest
    return math.nextafter(nearest, math.inf if error > 0 else -math.inf)
