"""Functions of elements: arithmetic, comparisons, bits, selection. Names and rules are NumPy's.

Functions of floats that are made of several ops are in functions.py.
"""

import operator

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.formulas import known_slope
from compiler.frontend.graph import Number, Value
from compiler.frontend.operands import (
    Operand,
    align,
    as_value,
    broadcast_to,
    common_dtype,
    device_of,
    is_number,
)
from compiler.frontend.shapes import as_int, broadcast
from compiler.frontend.symbolic import fixed
from compiler.ir import BOOL, FLOAT64, INT16, INT32, INT64, UINT64, DType, Kind, Op

MAX_DECIMALS = 308  # 10 to a greater power is no float64


def astype(x: Value, dtype: DTypeLike) -> Value:
    """`x` converted to `dtype`: integers wrap, floats truncate and saturate, bool is x != 0."""
    return graph.cast(x, dtypes.as_dtype(dtype))


def constant(x: Value, number: Number) -> Value:
    """`number` in the dtype and shape of `x`."""
    return graph.full(number, x.dtype, x.shape, x.device)


# --- arithmetic -----------------------------------------------------------------------------------


def _number(op: Op, x1: Operand, x2: Operand) -> Value:
    a, b = align(x1, x2)
    _refuse_bool(op.name.lower(), a.dtype)
    return graph.elementwise(op, a, b)


def _refuse_bool(name: str, dtype: DType) -> None:
    if dtype is BOOL:
        raise DTypeError(f"{name} of bool: has no numbers, cast to an integer or use logical ops")


def add(x1: Operand, x2: Operand) -> Value:
    """x1 + x2; of bools, or."""
    a, b = align(x1, x2)
    return graph.elementwise(Op.OR if a.dtype is BOOL else Op.ADD, a, b)


def subtract(x1: Operand, x2: Operand) -> Value:
    """x1 - x2."""
    return _number(Op.SUB, x1, x2)


def multiply(x1: Operand, x2: Operand) -> Value:
    """x1 * x2; of bools, and."""
    a, b = align(x1, x2)
    return graph.elementwise(Op.AND if a.dtype is BOOL else Op.MUL, a, b)


def divide(x1: Operand, x2: Operand) -> Value:
    """x1 / x2 as floats; integers give float64."""
    a, b = align(*[dtypes.as_float(x) if isinstance(x, int) else x for x in (x1, x2)])
    dtype = a.dtype if a.dtype.is_float else FLOAT64
    return graph.elementwise(Op.FDIV, graph.cast(a, dtype), graph.cast(b, dtype))


def power(x1: Operand, x2: Operand) -> Value:
    """x1 ** x2. Integers wrap; a constant negative power of them is a ValueError as in NumPy."""
    dtype = common_dtype(x1, x2)
    _refuse_bool("power", dtype)
    if is_number(x2) and isinstance(x1, Value):
        return _constant_power(graph.cast(x1, dtype), x2)
    a, b = align(x1, x2)
    return graph.elementwise(Op.POW, a, b) if dtype.is_float else _integer_power(a, b)


def _constant_power(x: Value, exponent: Number) -> Value:
    if x.dtype.is_float and exponent == 0.5:
        return graph.elementwise(Op.SQRT, x)
    if x.dtype.is_float and exponent not in (1, 2):
        return graph.elementwise(Op.POW, x, constant(x, exponent))
    if exponent < 0:
        raise ShapeError(f"{x.dtype} to the power {exponent}: integers have no such power")
    result: Value | None = None
    square, rest = x, int(exponent)
    while rest:
        if rest & 1:
            result = square if result is None else multiply(result, square)
        rest >>= 1
        square = multiply(square, square) if rest else square
    return constant(x, 1) if result is None else result


def _integer_power(a: Value, b: Value) -> Value:
    """Square and multiply over the bits of b, which a negative exponent makes 0."""
    result, square = constant(a, 1), a
    for bit in range(a.dtype.bits - (a.dtype.kind is Kind.INT)):
        is_set = not_equal(bitwise_and(b, 1 << bit), 0)
        result = where(is_set, multiply(result, square), result)
        square = multiply(square, square)
    return where(less(b, 0), 0, result) if a.dtype.kind is Kind.INT else result


def negative(x: Value) -> Value:
    """-x; unsigned integers wrap."""
    _refuse_bool("negative", x.dtype)
    return graph.elementwise(Op.NEG, x)


def positive(x: Value) -> Value:
    """x."""
    return x


def abs_(x: Value) -> Value:
    """The absolute value; the least integer stays as it is."""
    if not x.dtype.is_signed:
        return x
    if x.dtype.is_int:
        return where(less(x, 0), negative(x), x)
    size = where(less(x, 0), negative(x), add(x, 0.0))  # -0.0 + 0.0 is 0.0
    return known_slope(size, x, lambda v, y: sign(v))


def sign(x: Value) -> Value:
    """-1, 0 or 1; NaN of NaN."""
    one, zero = constant(x, 1), constant(x, 0)
    result = where(equal(x, 0), zero, where(greater(x, 0), one, x))
    return where(less(x, 0), negative(one), result) if x.dtype.is_signed else result


def square(x: Value) -> Value:
    """x * x."""
    return multiply(x, x)


# --- rounding -------------------------------------------------------------------------------------


def _round(op: Op, x: Value) -> Value:
    return graph.elementwise(op, x) if x.dtype.is_float else x


def floor(x: Value) -> Value:
    """The greatest integral value not above x."""
    return _round(Op.FLOOR, x)


def ceil(x: Value) -> Value:
    """The least integral value not below x."""
    return _round(Op.CEIL, x)


def trunc(x: Value) -> Value:
    """x without its fraction."""
    return _round(Op.TRUNC, x)


def round_(x: Value, decimals: int = 0) -> Value:
    """x rounded to `decimals` places, ties to even."""
    places = fixed(as_int(decimals, "decimals"))
    if places == 0 or not x.dtype.is_float:
        return _round(Op.RINT, x)
    if abs(places) > MAX_DECIMALS:
        raise ShapeError(f"decimals {places}: use at most {MAX_DECIMALS}")
    scale = float(10 ** abs(places))
    if places > 0:
        return divide(_round(Op.RINT, multiply(x, scale)), scale)
    return multiply(_round(Op.RINT, divide(x, scale)), scale)


# --- comparisons and logic ------------------------------------------------------------------------


def _compare(op: Op, x1: Operand, x2: Operand) -> Value:
    beyond = _beyond(op, x1, x2)
    if beyond is not None:
        return beyond
    a, b = align(x1, x2)
    if a.dtype is FLOAT64:
        return _compare_wide(op, x1, x2, a, b)
    return graph.elementwise(op, a, b)


_ORDER = {Op.LT: operator.lt, Op.LE: operator.le, Op.EQ: operator.eq, Op.NE: operator.ne}


def _beyond(op: Op, x1: Operand, x2: Operand) -> Value | None:
    """The answer for a Python integer that no integer of the other operand's dtype reaches."""
    for number, other, is_first in ((x1, x2, True), (x2, x1, False)):
        if not isinstance(number, int) or not isinstance(other, Value):
            continue
        dtype = INT64 if other.dtype is BOOL else other.dtype
        if dtype.is_int and not dtypes.is_held(number, dtype):
            side = 1 if number > 0 else -1  # where the number is, seen from all elements
            answer = _ORDER[op](side, 0) if is_first else _ORDER[op](0, side)
            return graph.full(answer, BOOL, other.shape, other.device)
    return None


def _compare_wide(op: Op, x1: Operand, x2: Operand, a: Value, b: Value) -> Value:
    """`a` and `b` are the operands as float64, which does not tell all 64-bit integers apart."""
    values = [as_value(x, a.device) for x in (x1, x2) if not is_number(x)]
    if len(values) < 2 or not all(value.dtype.is_int for value in values):
        return graph.elementwise(op, a, b)
    first, second = [broadcast_to(value, a.shape) for value in values]
    swaps = second.dtype.kind is Kind.INT
    signed = second if swaps else first
    is_negative = less(signed, 0)
    left, right = graph.cast(first, UINT64), graph.cast(second, UINT64)
    answer = _ORDER[op](1, 0) if swaps else _ORDER[op](0, 1)  # for a negative and an unsigned one
    return where(
        is_negative, graph.full(answer, BOOL, a.shape, a.device), graph.elementwise(op, left, right)
    )


def equal(x1: Operand, x2: Operand) -> Value:
    """x1 == x2."""
    return _compare(Op.EQ, x1, x2)


def not_equal(x1: Operand, x2: Operand) -> Value:
    """x1 != x2."""
    return _compare(Op.NE, x1, x2)


def less(x1: Operand, x2: Operand) -> Value:
    """x1 < x2."""
    return _compare(Op.LT, x1, x2)


def less_equal(x1: Operand, x2: Operand) -> Value:
    """x1 <= x2."""
    return _compare(Op.LE, x1, x2)


def greater(x1: Operand, x2: Operand) -> Value:
    """x1 > x2."""
    return _compare(Op.LT, x2, x1)


def greater_equal(x1: Operand, x2: Operand) -> Value:
    """x1 >= x2."""
    return _compare(Op.LE, x2, x1)


def isnan(x: Value) -> Value:
    """Whether x is NaN."""
    return not_equal(x, x)


def isinf(x: Value) -> Value:
    """Whether x is inf or -inf."""
    if not x.dtype.is_float:
        return graph.full(0, BOOL, x.shape, x.device)
    return logical_or(equal(x, float("inf")), equal(x, float("-inf")))


def isfinite(x: Value) -> Value:
    """Whether x is neither NaN nor infinite."""
    return logical_not(logical_or(isnan(x), isinf(x)))


def _logic(op: Op, x1: Operand, x2: Operand) -> Value:
    a, b = align(x1, x2)
    return graph.elementwise(op, graph.cast(a, BOOL), graph.cast(b, BOOL))


def logical_and(x1: Operand, x2: Operand) -> Value:
    """Whether both are true."""
    return _logic(Op.AND, x1, x2)


def logical_or(x1: Operand, x2: Operand) -> Value:
    """Whether one is true."""
    return _logic(Op.OR, x1, x2)


def logical_xor(x1: Operand, x2: Operand) -> Value:
    """Whether exactly one is true."""
    return _logic(Op.XOR, x1, x2)


def logical_not(x: Value) -> Value:
    """Whether x is false."""
    return graph.elementwise(Op.NOT, graph.cast(x, BOOL))


# --- bits -----------------------------------------------------------------------------------------


def _bits(op: Op, x1: Operand, x2: Operand) -> Value:
    a, b = align(x1, x2)
    if a.dtype.is_float:
        raise DTypeError(f"bitwise operation on {a.dtype}: use integers or bool")
    return graph.elementwise(op, a, b)


def bitwise_and(x1: Operand, x2: Operand) -> Value:
    """x1 & x2."""
    return _bits(Op.AND, x1, x2)


def bitwise_or(x1: Operand, x2: Operand) -> Value:
    """x1 | x2."""
    return _bits(Op.OR, x1, x2)


def bitwise_xor(x1: Operand, x2: Operand) -> Value:
    """x1 ^ x2."""
    return _bits(Op.XOR, x1, x2)


def bitwise_invert(x: Value) -> Value:
    """~x."""
    if x.dtype.is_float:
        raise DTypeError(f"bitwise operation on {x.dtype}: use integers or bool")
    return graph.elementwise(Op.NOT, x)


def bitwise_left_shift(x1: Operand, x2: Operand) -> Value:
    """x1 << x2; 0 for the width or more."""
    a, b = align(x1, x2)
    if not a.dtype.is_int:
        raise DTypeError(f"shift of {a.dtype}: use integers")
    return graph.elementwise(Op.SHL, a, b)


def bitwise_right_shift(x1: Operand, x2: Operand) -> Value:
    """x1 >> x2; 0 for the width or more, -1 of a negative x1."""
    a, b = align(x1, x2)
    if not a.dtype.is_int:
        raise DTypeError(f"shift of {a.dtype}: use integers")
    return graph.elementwise(Op.SHR, a, b)


# --- selection ------------------------------------------------------------------------------------


def where(condition: Operand, x1: Operand, x2: Operand) -> Value:
    """x1 where the condition is true, x2 elsewhere."""
    device = device_of([condition, x1, x2])
    chosen = as_value(condition, device)
    if is_number(x1) and is_number(x2):  # nothing but the numbers gives a dtype
        x1 = as_value(x1, device)
    a, b = align(*[x if is_number(x) else as_value(x, device) for x in (x1, x2)])
    shape = broadcast(chosen.shape, a.shape)
    cond = broadcast_to(graph.cast(chosen, BOOL), shape)
    return graph.elementwise(Op.WHERE, cond, broadcast_to(a, shape), broadcast_to(b, shape))


def maximum(x1: Operand, x2: Operand) -> Value:
    """The greater; NaN if one is NaN."""
    a, b = align(x1, x2)
    return graph.elementwise(Op.MAX, a, b)


def minimum(x1: Operand, x2: Operand) -> Value:
    """The smaller; NaN if one is NaN."""
    a, b = align(x1, x2)
    return graph.elementwise(Op.MIN, a, b)


def clip(x: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    """x, but not below min nor above max; a bound beyond the ends of x's dtype bounds nothing."""
    is_bounded = x.dtype.is_int
    if is_bounded and isinstance(min, int) and min < x.dtype.lowest:
        min = None
    if is_bounded and isinstance(max, int) and max > x.dtype.highest:
        max = None
    low = x if min is None else maximum(x, min)
    return low if max is None else minimum(low, max)


def _floats(x1: Operand, x2: Operand) -> tuple[Value, ...]:
    """Both operands as floats, small integers as small ones, as NumPy has it."""
    device = device_of([x1, x2])
    values = [x if is_number(x) else as_value(x, device) for x in (x1, x2)]
    floats = [
        graph.cast(x, dtypes.float_of(x.dtype)) if isinstance(x, Value) else x for x in values
    ]
    return align(*floats)


def copysign(x1: Operand, x2: Operand) -> Value:
    """The magnitude of x1 with the sign of x2, as floats."""
    a, b = _floats(x1, x2)
    size = abs_(a)
    return where(signbit(b), negative(size), size)


def nextafter(x1: Operand, x2: Operand) -> Value:
    """The float next to x1 in the direction of x2."""
    a, b = _floats(x1, x2)
    ints = {16: INT16, 32: INT32, 64: INT64}[a.dtype.bits]
    bits = graph.bitcast(a, ints)
    grows = equal(less(a, b), less(0, a))  # away from 0
    stepped = graph.bitcast(where(grows, add(bits, 1), subtract(bits, 1)), a.dtype)
    least = copysign(graph.bitcast(graph.full(1, ints, a.shape, a.device), a.dtype), b)
    moved = where(equal(a, 0), least, stepped)
    result = where(equal(a, b), b, moved)
    return where(logical_or(isnan(a), isnan(b)), add(a, b), result)


def signbit(x: Value) -> Value:
    """Whether the sign bit of x is set, also of -0.0."""
    if not x.dtype.is_float:
        return less(x, 0)
    ints = {16: INT16, 32: INT32, 64: INT64}[x.dtype.bits]
    return less(graph.bitcast(x, ints), 0)
