"""Operators on elements."""

import math
from collections.abc import Callable
from functools import reduce

from compiler.frontend import graph
from compiler.frontend.functions import division, floats, inverse
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.ir import BOOL, UINT8


def _unary(function: Callable[[Value], Value]) -> Operator:
    return lambda call: function(call.value(0))


def _binary(function: Callable[[Value, Value], Value]) -> Operator:
    return lambda call: function(call.value(0), call.value(1))


def _fold(function: Callable[[Value, Value], Value]) -> Operator:
    return lambda call: reduce(function, call.values())


def _divide(call: Call) -> Value:
    a, b = call.value(0), call.value(1)
    return division.truncated_divide(a, b) if a.dtype.is_int else ew.divide(a, b)


def _power(call: Call) -> Value:
    base, exponent = call.value(0), call.value(1)
    return graph.cast(ew.power(base, exponent), base.dtype)


def _modulo(call: Call) -> Value:
    a, b = call.value(0), call.value(1)
    if call.attribute("fmod", 0):
        return division.fmod(a, b)
    return division.remainder(a, b)


def _clip(call: Call) -> Value:
    low, high = call.attributes.get("min"), call.attributes.get("max")
    return ew.clip(
        call.value(0),
        call.optional(1) if low is None else low,
        call.optional(2) if high is None else high,
    )


def _cast(call: Call) -> Value:
    return graph.cast(call.value(0), call.dtype("to"))


def _cast_like(call: Call) -> Value:
    return graph.cast(call.value(0), call.value(1).dtype)


def _bit_cast(call: Call) -> Value:
    x, dtype = call.value(0), call.dtype("to")
    if BOOL in (x.dtype, dtype):  # a byte of 0 or 1
        byte = graph.cast(x, UINT8) if x.dtype is BOOL else graph.bitcast(x, UINT8)
        return graph.cast(byte, BOOL) if dtype is BOOL else graph.bitcast(byte, dtype)
    if x.dtype.bits != dtype.bits:
        raise call.error(f"{x.dtype} to {dtype}: differ in width")
    return graph.bitcast(x, dtype)


def _bit_shift(call: Call) -> Value:
    is_left = call.attribute("direction", "") == "LEFT"
    shift = ew.bitwise_left_shift if is_left else ew.bitwise_right_shift
    return shift(call.value(0), call.value(1))


def _is_inf(call: Call) -> Value:
    x = call.value(0)
    found = [
        ew.equal(x, sign * math.inf)
        for name, sign in (("detect_positive", 1), ("detect_negative", -1))
        if call.attribute(name, 1)
    ]
    return reduce(ew.logical_or, found, graph.full(0, BOOL, x.shape, x.device))


def _where(call: Call) -> Value:
    return ew.where(call.value(0), call.value(1), call.value(2))


def _sum(call: Call) -> Value:
    return reduce(ew.add, call.values())


def _mean(call: Call) -> Value:
    return ew.divide(_sum(call), float(len(call.values())))


OPERATORS: dict[str, Operator] = {
    "Abs": _unary(ew.abs_),
    "Acos": _unary(inverse.acos),
    "Acosh": _unary(inverse.acosh),
    "Add": _binary(ew.add),
    "And": _binary(ew.logical_and),
    "Asin": _unary(inverse.asin),
    "Asinh": _unary(inverse.asinh),
    "Atan": _unary(inverse.atan),
    "Atanh": _unary(inverse.atanh),
    "BitCast": _bit_cast,
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(ew.bitwise_and),
    "BitwiseNot": _unary(ew.bitwise_invert),
    "BitwiseOr": _binary(ew.bitwise_or),
    "BitwiseXor": _binary(ew.bitwise_xor),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": _unary(ew.ceil),
    "Clip": _clip,
    "Cos": _unary(floats.cos),
    "Cosh": _unary(floats.cosh),
    "Div": _divide,
    "Equal": _binary(ew.equal),
    "Erf": _unary(floats.erf),
    "Exp": _unary(floats.exp),
    "Floor": _unary(ew.floor),
    "Greater": _binary(ew.greater),
    "GreaterOrEqual": _binary(ew.greater_equal),
    "IsInf": _is_inf,
    "IsNaN": _unary(ew.isnan),
    "Less": _binary(ew.less),
    "LessOrEqual": _binary(ew.less_equal),
    "Log": _unary(floats.log),
    "Max": _fold(ew.maximum),
    "Mean": _mean,
    "Min": _fold(ew.minimum),
    "Mod": _modulo,
    "Mul": _binary(ew.multiply),
    "Neg": _unary(ew.negative),
    "Not": _unary(ew.logical_not),
    "Or": _binary(ew.logical_or),
    "Pow": _power,
    "Reciprocal": _unary(floats.reciprocal),
    "Round": _unary(ew.round_),
    "Sign": _unary(ew.sign),
    "Sin": _unary(floats.sin),
    "Sinh": _unary(floats.sinh),
    "Sqrt": _unary(floats.sqrt),
    "Sub": _binary(ew.subtract),
    "Sum": _sum,
    "Tan": _unary(floats.tan),
    "Tanh": _unary(floats.tanh),
    "Where": _where,
    "Xor": _binary(ew.logical_xor),
}
