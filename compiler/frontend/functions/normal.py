"""Normal numbers of uniform ones, by operations that every backend rounds alike.

The method of Box and Muller takes a logarithm and a cosine, which backends approximate each in its
own way. Of a number in (0, 1] and of a turn both are short series, and a series is sums, products
and one quotient: the numbers have the same bits everywhere.
"""

import math

from compiler.frontend import graph
from compiler.frontend.functions.elementwise import abs_, add, constant, divide, multiply, subtract
from compiler.frontend.functions.floats import mulacc, sqrt
from compiler.frontend.graph import Value
from compiler.ir import FLOAT64, INT32, INT64, Op

# terms of the series: what is left out is below half a unit in the last place
_LOG_TERMS = {32: 5, 64: 11}  # of atanh, up to 3 - 2 * sqrt(2)
_SINE_TERMS = {32: 7, 64: 11}  # up to a quarter turn


def normal(first: Value, second: Value) -> Value:
    """Numbers of mean 0 and variance 1 of two uniform ones in [0, 1), both float32 or float64.

    Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
    """
    length = sqrt(_minus_twice_log(subtract(1.0, first)))  # of a number that is not 0
    return multiply(length, _cosine_of_turns(second))


def _minus_twice_log(x: Value) -> Value:
    """-2 log x for normal x up to 1: of x = m * 2**e with m around 1, log m = 2 atanh s."""
    mantissa, exponent = _split(x)
    s = divide(subtract(mantissa, 1.0), add(mantissa, 1.0))
    terms = [1 / (2 * k + 1) for k in range(_LOG_TERMS[x.dtype.bits])]
    log = multiply(multiply(s, -4.0), _polynomial(multiply(s, s), terms))
    return mulacc(exponent, constant(x, -2 * math.log(2.0)), log)


def _split(x: Value) -> tuple[Value, Value]:
    """m from sqrt(1/2) to sqrt(2) and a whole e, both of the dtype of x."""
    ints, digits = (INT64, 52) if x.dtype is FLOAT64 else (INT32, 23)
    bits, shift = graph.bitcast(x, ints), graph.full(digits, ints, x.shape, x.device)
    least = graph.bitcast(constant(x, math.sqrt(0.5)), ints)
    exponent = graph.elementwise(Op.SHR, subtract(bits, least), shift)
    mantissa = subtract(bits, graph.elementwise(Op.SHL, exponent, shift))
    return graph.bitcast(mantissa, x.dtype), graph.cast(exponent, x.dtype)


def _cosine_of_turns(turns: Value) -> Value:
    """cos(2 pi x) for x in [0, 1): the sine of what is missing to a quarter of a turn."""
    quarter = subtract(abs_(subtract(turns, 0.5)), 0.25)  # exact, and -1/4 to 1/4
    angle = multiply(quarter, 2 * math.pi)
    terms = [(-1) ** k / math.factorial(2 * k + 1) for k in range(_SINE_TERMS[turns.dtype.bits])]
    return multiply(angle, _polynomial(multiply(angle, angle), terms))


def _polynomial(x: Value, coefficients: list[float]) -> Value:
    """The sum of coefficients[k] * x**k, each step rounded once."""
    result = constant(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = mulacc(result, x, constant(x, coefficient))
    return result
