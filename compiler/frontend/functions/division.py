"""Division with a remainder: floored as Python and NumPy do it, or cut off as C does.

Integers divided by 0 give 0. The remainder of floats is exact whatever the quotient: it is found by
long division, which takes the digits of a float off the quotient in every step.
"""

import math

from compiler.errors import DTypeError
from compiler.frontend import dtypes, graph
from compiler.frontend.formulas import known, weighed
from compiler.frontend.functions.elementwise import (
    abs_,
    add,
    bitwise_xor,
    constant,
    copysign,
    divide,
    equal,
    floor,
    greater,
    isfinite,
    isinf,
    less,
    logical_and,
    multiply,
    negative,
    not_equal,
    subtract,
    trunc,
    where,
)
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, align
from compiler.ir import BOOL, FLOAT16, DType, Kind, Op

_DIGITS = {32: 24, 64: 53}  # by the bits of a float
_TOP = {32: 128, 64: 1024}  # 2 ** _TOP is the first power of 2 above all finite numbers


def floor_divide(x1: Operand, x2: Operand) -> Value:
    """floor(x1 / x2); of integers, 0 where x2 is 0."""
    return _divmod(x1, x2)[0]


def remainder(x1: Operand, x2: Operand) -> Value:
    """x1 - x2 * floor(x1 / x2), with the sign of x2; of integers, 0 where x2 is 0."""
    return _divmod(x1, x2)[1]


def truncated_divide(x1: Operand, x2: Operand) -> Value:
    """Integer x1 / x2 rounded toward zero; 0 where x2 is 0."""
    a, b = align(x1, x2)
    if not a.dtype.is_int:
        raise DTypeError(f"truncated_divide of {a.dtype}: use integers")
    return graph.elementwise(Op.IDIV, a, b)


def fmod(x1: Operand, x2: Operand) -> Value:
    """What truncated division leaves, with the sign of x1; of integers, 0 where x2 is 0."""
    a, b = align(x1, x2)
    _refuse_bool(a.dtype)
    if a.dtype.is_int:
        return graph.elementwise(Op.MOD, a, b)
    wide = dtypes.accumulator(a.dtype)
    return graph.cast(_cut_off(graph.cast(a, wide), graph.cast(b, wide), a.dtype), a.dtype)


def _refuse_bool(dtype: DType) -> None:
    if dtype is BOOL:
        raise DTypeError("division of bool: has no numbers, cast to an integer or use logical ops")


def _divmod(x1: Operand, x2: Operand) -> tuple[Value, Value]:
    a, b = align(x1, x2)
    _refuse_bool(a.dtype)
    if a.dtype.kind is Kind.UINT:
        return graph.elementwise(Op.IDIV, a, b), graph.elementwise(Op.MOD, a, b)
    if a.dtype.is_int:
        return _floor_integers(a, b)
    wide = dtypes.accumulator(a.dtype)
    quotient, rest = _floor_floats(graph.cast(a, wide), graph.cast(b, wide), a.dtype)
    return graph.cast(quotient, a.dtype), graph.cast(rest, a.dtype)


def _floor_integers(a: Value, b: Value) -> tuple[Value, Value]:
    quotient, rest = graph.elementwise(Op.IDIV, a, b), graph.elementwise(Op.MOD, a, b)
    crosses = logical_and(not_equal(rest, 0), less(bitwise_xor(rest, b), 0))
    return where(crosses, subtract(quotient, 1), quotient), where(crosses, add(rest, b), rest)


def _floor_floats(a: Value, b: Value, given: DType) -> tuple[Value, Value]:
    """The two results of NumPy's divmod. Source: `npy_divmod` of NumPy, which this follows."""
    cut = _cut_off(a, b, given)
    has_rest, crosses = not_equal(cut, 0), not_equal(less(b, 0), less(cut, 0))
    moves = logical_and(has_rest, crosses)
    near = divide(subtract(a, cut), b)  # an integer, but for its rounding
    near = where(moves, subtract(near, 1.0), near)
    floored = floor(near)
    floored = where(greater(subtract(near, floored), 0.5), add(floored, 1.0), floored)
    plain = divide(a, b)
    quotient = where(not_equal(near, 0), floored, copysign(constant(a, 0.0), plain))
    quotient = where(equal(b, 0), plain, quotient)
    rest = where(has_rest, where(moves, add(cut, b), cut), copysign(constant(a, 0.0), b))
    rest = where(equal(b, 0), cut, rest)
    return quotient, known(
        rest,
        (a, b),
        lambda g, y: g,
        lambda g, y: weighed(g, negative(_floor_floats(a, b, given)[0])),
    )


def _cut_off(a: Value, b: Value, given: DType) -> Value:
    """What truncated division of floats leaves, exactly, with the sign of `a`."""
    size, divisor = abs_(a), _size_of_divisor(b)
    rest = size
    for part, steps in _parts(divisor, given):
        for _ in range(steps):
            # what a rounded quotient leaves is a float: the remainder theorem of fused division
            quotient = trunc(divide(rest, part))
            rest = graph.elementwise(Op.MULACC, negative(quotient), part, rest)
    rest = where(less(rest, 0), add(rest, divisor), rest)  # a quotient was rounded up
    rest = where(logical_and(isinf(divisor), isfinite(size)), size, rest)  # 0 * inf is not 0
    return known(
        copysign(rest, a),
        (a, b),
        lambda g, y: g,
        lambda g, y: weighed(g, negative(trunc(divide(a, b)))),
    )


def _size_of_divisor(b: Value) -> Value:
    """|b|; of a constant a constant, which takes fewer steps."""
    return constant(b, abs(float(b.arg.value))) if b.kind is graph.Kind.CONST else abs_(b)


def _parts(divisor: Value, given: DType) -> list[tuple[Value, int]]:
    """What to divide by, and how often: `divisor` at last, before that powers of 2 times as much.

    No quotient on the way is beyond the largest float, though the whole one may be. `given` is the
    dtype that the numbers had, which bounds them.
    """
    digits, top = _DIGITS[divisor.dtype.bits], _TOP[divisor.dtype.bits]
    if given is FLOAT16:  # below 2 ** 16 over 2 ** -24 at least
        return [(divisor, 2)]
    if divisor.kind is graph.Kind.CONST and float(divisor.arg.value) >= 1:
        bits = top - math.frexp(float(divisor.arg.value))[1] + 1
        return [(divisor, -(-bits // digits))]
    scale, many = 2.0 ** (top - 2), -(-top // digits)
    near = where(less(divisor, 1.0), multiply(divisor, scale), divisor)
    is_subnormal = less(divisor, 2.0 ** (2 - top))
    far = where(is_subnormal, multiply(near, scale), near)
    return [(far, 2), (near, many), (divisor, many)]
