"""Error bounds of transcendental functions. To add one: a line in NATIVE_ULP and in _SLOPES.

The error of a function is at most so many units in the last place of the exact result, over all
arguments: for the platform's own functions what OpenCL allows, which covers libm as well, and less
for those that are decomposed into IEEE operations.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from compiler.backends.reference.arithmetic import FUNCTIONS, Array, transcendental
from compiler.backends.reference.bounds.approx import FORMATS, INFLATE, Approx, make, settle
from compiler.ir import Node, Op

NATIVE_ULP: Mapping[Op, float] = {
    Op.EXP2: 4.0,
    Op.LOG2: 4.0,
    Op.SIN: 4.0,
    Op.COS: 4.0,
    Op.TAN: 5.0,
    Op.TANH: 5.0,
    Op.ERF: 16.0,
    Op.POW: 16.0,
}
PORTABLE_ULP: Mapping[Op, float] = dict.fromkeys(NATIVE_ULP, 2.0)
ULP_16 = 1.0  # a 16-bit float's function is computed in float32 and rounded once
OWN_FUNCTION_UNIT = 2.0**-50  # the platform's float64 functions, used for the reference value


def apply_function(node: Node, values: tuple[Approx, ...], ulp: float) -> Approx:
    """A transcendental function: its own error of `ulp`, and the operands' through its slope."""
    dtype, form = node.dtype, FORMATS[node.dtype]
    function = transcendental(FUNCTIONS[node.op])
    value = np.asarray(function(*[v.value for v in values]), np.float64)
    if all(v.error is None for v in values):
        spread = np.zeros_like(value)
    else:
        spread = _SLOPES[node.op](value, *values)
        for v in values:
            spread = np.where(np.isinf(v.slack), np.inf, spread)  # the operand may be NaN
    spread = np.where(np.isnan(spread), np.inf, spread)
    reach = np.where(np.isfinite(value), np.abs(value) + spread, 0.0)
    count = min(ulp, ULP_16) if dtype.bits == 16 else ulp
    place = np.ldexp(form.unit, np.frexp(reach * (1 + 2 * count * form.unit))[1])
    ulps = count * np.maximum(place, form.tiny) + OWN_FUNCTION_UNIT * reach
    ulps = np.where(np.isinf(reach), np.inf, ulps)
    given = () if node.op is Op.POW else values  # pow(NaN, 0) is 1
    result = settle(dtype, value, spread + ulps, given, rounds=False)
    exact = np.ones((), np.bool_)
    for v in values:
        exact = exact & v.is_exact
    limit = exact & ~np.isfinite(value)  # a pole or a NaN of the function itself
    return make(np.where(limit, value, result.value), np.where(limit, 0.0, result.slack), None)


def _between_ends(function: Callable[..., Array]) -> Callable[[Array, Approx], Array]:
    """The spread of a monotone function."""
    wide = transcendental(function)

    def spread(value: Array, a: Approx) -> Array:
        low = np.asarray(wide(a.value - a.slack), np.float64)
        high = np.asarray(wide(a.value + a.slack), np.float64)
        reach = np.maximum(np.abs(value - low), np.abs(high - value))
        return np.where(a.is_exact, 0.0, reach * INFLATE + OWN_FUNCTION_UNIT * np.abs(value))

    return spread


def _bounded_slope(value: Array, a: Approx) -> Array:
    """sin and cos: slope at most 1, values at most 2 apart."""
    return np.minimum(a.slack * INFLATE, 2.0)


def _tan_slope(value: Array, a: Approx) -> Array:
    branch_low = np.floor((a.value - a.slack) / math.pi - 0.5)
    branch_high = np.floor((a.value + a.slack) / math.pi - 0.5)
    margin = np.abs(a.value) * 2.0**-50  # of the division by an inexact pi
    near = np.abs(np.cos(a.value)) <= a.slack + margin
    crossing = (branch_low != branch_high) | near
    reach = _between_ends(np.tan)(value, a)
    return np.where(a.is_exact, 0.0, np.where(crossing, np.inf, reach))


def _pow_slope(value: Array, a: Approx, b: Approx) -> Array:
    """A power of a positive base is monotone in both arguments: the extremes are at corners."""
    power = FUNCTIONS[Op.POW]
    reach = np.zeros_like(value)
    for x in (a.value - a.slack, a.value + a.slack):
        for y in (b.value - b.slack, b.value + b.slack):
            corner = np.asarray(power(x, y), np.float64)
            reach = np.maximum(reach, np.abs(corner - value))
    reach = reach * INFLATE + OWN_FUNCTION_UNIT * np.abs(value)
    positive = a.value - a.slack > 0
    both = a.is_exact & b.is_exact
    return np.where(both, 0.0, np.where(positive, reach, np.inf))


_SLOPES: dict[Op, Callable[..., Array]] = {
    **{op: _between_ends(FUNCTIONS[op]) for op in (Op.EXP2, Op.LOG2, Op.TANH, Op.ERF)},
    Op.SIN: _bounded_slope,
    Op.COS: _bounded_slope,
    Op.TAN: _tan_slope,
    Op.POW: _pow_slope,
}
