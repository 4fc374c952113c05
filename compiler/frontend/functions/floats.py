"""Functions of floats. Integers are converted as NumPy does; 16-bit floats are computed in float32.

To add one: a function here, and a line in tensor.py.
"""

import math
from collections.abc import Callable

from compiler.frontend import dtypes, graph
from compiler.frontend.formulas import known_slope
from compiler.frontend.functions.elementwise import (
    abs_,
    add,
    constant,
    divide,
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
    where,
)
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, align
from compiler.ir import Op

_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2.0)


def as_float(x: Value) -> Value:
    """`x` in the float dtype in which functions of it are given."""
    return graph.cast(x, dtypes.float_of(x.dtype))


def _wide(
    x: Value,
    function: Callable[[Value], Value],
    slope: Callable[[Value, Value], Value] | None = None,
) -> Value:
    """`function` of `x` in at least float32, rounded once to the result's dtype.

    `slope` is its derivative, of the argument and the result, where its ops do not tell it well.
    """
    x = as_float(x)
    wide = graph.cast(x, dtypes.accumulator(x.dtype))
    result = function(wide)
    if slope is not None:
        known_slope(result, wide, slope)
    return graph.cast(result, x.dtype)


def _op(op: Op) -> Callable[[Value], Value]:
    return lambda x: graph.elementwise(op, x)


def sqrt(x: Value) -> Value:
    """The square root, correctly rounded."""
    return _op(Op.SQRT)(as_float(x))


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x)."""
    return _wide(x, lambda v: divide(1.0, _op(Op.SQRT)(v)))


def reciprocal(x: Value) -> Value:
    """1 / x."""
    return divide(1.0, as_float(x))


def exp2(x: Value) -> Value:
    """2 ** x."""
    return _wide(x, _op(Op.EXP2))


def exp(x: Value) -> Value:
    """e ** x."""
    return _wide(x, _exp, lambda v, y: y)


def _exp(x: Value) -> Value:
    """2 ** (x * log2 e), corrected by what the product lost: it is large where |x| is."""
    scaled = multiply(x, _LOG2_E)
    power = _op(Op.EXP2)(scaled)
    lost = mulacc(x, constant(x, _LOG2_E), negative(scaled))
    lost = mulacc(x, constant(x, _LOG2_E_LOW[x.dtype.bits]), lost)
    corrected = mulacc(power, multiply(lost, _LN_2), power)
    # inf and NaN stay as they are, and 0 where `lost` is not finite
    is_ordinary = logical_and(less(_LEAST_EXPONENT, x), less(power, float("inf")))
    return where(is_ordinary, corrected, power)


_LEAST_EXPONENT = -1024.0  # from there down e ** x is 0, in float64 too


def mulacc(a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once."""
    return graph.elementwise(Op.MULACC, a, b, c)


def _log2_e_low(bits: int) -> float:
    """log2 e less its value in a float of `bits`."""
    digits = 1442695040888963407359924681001892137
    numerator, denominator = _as_float_ratio(bits)
    return (digits * denominator - numerator * 10**36) / (10**36 * denominator)


def _as_float_ratio(bits: int) -> tuple[int, int]:
    value = graph.full(_LOG2_E, dtypes.as_dtype(f"float{bits}"), (), "").arg.value
    return float(value).as_integer_ratio()


_LOG2_E_LOW = {bits: _log2_e_low(bits) for bits in (32, 64)}


def expm1(x: Value) -> Value:
    """e ** x - 1, accurate near 0. Source: W. Kahan's identity over u = e ** x."""
    return _wide(x, _expm1, lambda v, y: exp(v))


def _expm1(x: Value) -> Value:
    u = _exp(x)
    less_one = subtract(u, 1.0)
    ratio = multiply(less_one, divide(x, _log(u)))
    result = where(equal(u, 1.0), x, ratio)
    is_far = logical_not(less(abs_(x), 1.0))
    return where(is_far, less_one, result)


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return _wide(x, _op(Op.LOG2))


def log(x: Value) -> Value:
    """The natural logarithm."""
    return _wide(x, _log, lambda v, y: divide(1.0, v))


def _log(x: Value) -> Value:
    return multiply(_op(Op.LOG2)(x), _LN_2)


def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    return _wide(x, lambda v: multiply(_op(Op.LOG2)(v), math.log10(2.0)))


def log1p(x: Value) -> Value:
    """log(1 + x), accurate near 0. Source: W. Kahan's identity over u = 1 + x."""
    return _wide(x, _log1p, lambda v, y: divide(1.0, add(v, 1.0)))


def _log1p(x: Value) -> Value:
    u = add(x, 1.0)
    exact = equal(u, 1.0)
    corrected = multiply(_log(u), divide(x, subtract(u, 1.0)))
    return where(exact, x, where(less(x, float("inf")), corrected, x))


def sin(x: Value) -> Value:
    """The sine of radians."""
    return _wide(x, _op(Op.SIN))


def cos(x: Value) -> Value:
    """The cosine of radians."""
    return _wide(x, _op(Op.COS))


def tan(x: Value) -> Value:
    """The tangent of radians."""
    return _wide(x, _op(Op.TAN))


def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    return _wide(x, _op(Op.TANH))


def sinh(x: Value) -> Value:
    """The hyperbolic sine."""
    return _wide(x, _sinh, lambda v, y: cosh(v))


def _sinh(x: Value) -> Value:
    """(u + u / (u + 1)) / 2 over u = expm1(|x|); half the exponent where e ** |x| overflows."""
    size = abs_(x)
    u = _expm1(size)
    near = multiply(add(u, divide(u, add(u, 1.0))), 0.5)
    half = _exp(multiply(size, 0.5))
    result = where(less(size, 30.0), near, multiply(multiply(half, 0.5), half))
    signed = where(less(x, 0), negative(result), result)
    return where(equal(x, 0), x, signed)  # -0.0


def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    return _wide(x, _cosh, lambda v, y: sinh(v))


def _cosh(x: Value) -> Value:
    half = _exp(multiply(abs_(x), 0.5))
    near = _exp(abs_(x))
    near = multiply(add(near, divide(1.0, near)), 0.5)
    return where(less(abs_(x), 30.0), near, multiply(multiply(half, 0.5), half))


def erf(x: Value) -> Value:
    """The error function."""
    return _wide(x, _op(Op.ERF))


def sigmoid(x: Value) -> Value:
    """1 / (1 + e ** -x)."""
    return _wide(x, _sigmoid, lambda v, y: multiply(y, _sigmoid(negative(v))))


def _sigmoid(x: Value) -> Value:
    return divide(1.0, add(_exp(negative(x)), 1.0))


def relu(x: Value) -> Value:
    """max(x, 0)."""
    return maximum(x, 0)


def silu(x: Value) -> Value:
    """x * sigmoid(x)."""
    return _wide(x, lambda v: divide(v, add(_exp(negative(v)), 1.0)), _silu_slope)


def _silu_slope(x: Value, y: Value) -> Value:
    s = _sigmoid(x)
    return add(s, multiply(y, _sigmoid(negative(x))))


def gelu(x: Value) -> Value:
    """x times the normal distribution function of x."""
    return _wide(
        x, lambda v: multiply(multiply(v, 0.5), add(erf(multiply(v, math.sqrt(0.5))), 1.0))
    )


def softplus(x: Value) -> Value:
    """log(1 + e ** x)."""
    return _wide(
        x,
        lambda v: add(maximum(v, 0.0), _log1p(_exp(negative(abs_(v))))),
        lambda v, y: _sigmoid(v),
    )


def hypot(x1: Operand, x2: Operand) -> Value:
    """sqrt(x1 ** 2 + x2 ** 2) without overflow of the squares; inf beside an inf, NaN or not."""
    a, b = [abs_(as_float(x)) for x in align(x1, x2)]
    high, low = maximum(a, b), minimum(a, b)
    ratio = where(greater_equal(0.0, high), constant(high, 0.0), divide(low, high))
    length = multiply(high, sqrt(add(multiply(ratio, ratio), 1.0)))
    is_infinite = logical_or(equal(a, float("inf")), equal(b, float("inf")))
    return where(is_infinite, constant(high, float("inf")), length)


def logaddexp(x1: Operand, x2: Operand) -> Value:
    """log(e ** x1 + e ** x2)."""
    a, b = [as_float(x) for x in align(x1, x2)]
    high, low = maximum(a, b), minimum(a, b)
    gap = where(equal(high, low), constant(high, 0.0), subtract(low, high))
    return add(high, log1p(exp(gap)))
