"""Operators on elements."""

from collections.abc import Callable
from functools import reduce

import onnx

from compiler.errors import ModelError
from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator


def _unary(function: Callable[[Value], Value]) -> Operator:
    return lambda call: function(call.value(0))


def _binary(function: Callable[[Value, Value], Value]) -> Operator:
    return lambda call: function(call.value(0), call.value(1))


def _fold(function: Callable[[Value, Value], Value]) -> Operator:
    return lambda call: reduce(function, call.values())


def _divide(call: Call) -> Value:
    a, b = call.value(0), call.value(1)
    return ew.truncated_divide(a, b) if a.dtype.is_int else ew.divide(a, b)


def _power(call: Call) -> Value:
    base, exponent = call.value(0), call.value(1)
    return graph.cast(ew.power(base, exponent), base.dtype)


def _modulo(call: Call) -> Value:
    a, b = call.value(0), call.value(1)
    if call.attribute("fmod", 0):
        return _fmod(a, b)
    return ew.remainder(a, b)


def _fmod(a: Value, b: Value) -> Value:
    if a.dtype.is_int:
        return ew.fmod(a, b)
    size = ew.remainder(ew.abs_(a), ew.abs_(b))
    return ew.where(ew.less(a, 0), ew.negative(size), size)


def _clip(call: Call) -> Value:
    low, high = call.attributes.get("min"), call.attributes.get("max")
    return ew.clip(
        call.value(0),
        call.optional(1) if low is None else low,
        call.optional(2) if high is None else high,
    )


def _leaky_relu(call: Call) -> Value:
    x = call.value(0)
    return ew.where(ew.less(x, 0), ew.multiply(x, float(call.attribute("alpha", 0.01))), x)


def _prelu(call: Call) -> Value:
    x, slope = call.value(0), call.value(1)
    return ew.where(ew.less(x, 0), ew.multiply(x, slope), x)


def _elu(call: Call) -> Value:
    x, alpha = call.value(0), float(call.attribute("alpha", 1.0))
    return ew.where(ew.less(x, 0), ew.multiply(floats.expm1(x), alpha), x)


def _hard_sigmoid(call: Call) -> Value:
    alpha, beta = float(call.attribute("alpha", 0.2)), float(call.attribute("beta", 0.5))
    return ew.clip(ew.add(ew.multiply(call.value(0), alpha), beta), 0.0, 1.0)


def _hard_swish(call: Call) -> Value:
    x = call.value(0)
    return ew.multiply(x, ew.clip(ew.add(ew.multiply(x, 1.0 / 6.0), 0.5), 0.0, 1.0))


def _cast(call: Call) -> Value:
    code = call.attribute("to", 0)
    try:
        return ew.astype(call.value(0), onnx.helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, TypeError):
        name = onnx.TensorProto.DataType.Name(code)
        raise ModelError(f"Cast {call.name}: to {name}, which tensors do not have") from None


def _where(call: Call) -> Value:
    return ew.where(call.value(0), call.value(1), call.value(2))


def _sum(call: Call) -> Value:
    return reduce(ew.add, call.values())


def _mean(call: Call) -> Value:
    return ew.divide(_sum(call), float(len(call.values())))


OPERATORS: dict[str, Operator] = {
    "Abs": _unary(ew.abs_),
    "Add": _binary(ew.add),
    "And": _binary(ew.logical_and),
    "BitwiseAnd": _binary(ew.bitwise_and),
    "BitwiseNot": _unary(ew.bitwise_invert),
    "BitwiseOr": _binary(ew.bitwise_or),
    "BitwiseXor": _binary(ew.bitwise_xor),
    "Cast": _cast,
    "Ceil": _unary(ew.ceil),
    "Clip": _clip,
    "Cos": _unary(floats.cos),
    "Cosh": _unary(floats.cosh),
    "Div": _divide,
    "Elu": _elu,
    "Equal": _binary(ew.equal),
    "Erf": _unary(floats.erf),
    "Exp": _unary(floats.exp),
    "Floor": _unary(ew.floor),
    "Greater": _binary(ew.greater),
    "GreaterOrEqual": _binary(ew.greater_equal),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "IsNaN": _unary(ew.isnan),
    "LeakyRelu": _leaky_relu,
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
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _unary(floats.reciprocal),
    "Relu": _unary(floats.relu),
    "Round": _unary(ew.round_),
    "Sigmoid": _unary(floats.sigmoid),
    "Sign": _unary(ew.sign),
    "Sin": _unary(floats.sin),
    "Sinh": _unary(floats.sinh),
    "Softplus": _unary(floats.softplus),
    "Sqrt": _unary(floats.sqrt),
    "Sub": _binary(ew.subtract),
    "Sum": _sum,
    "Tan": _unary(floats.tan),
    "Tanh": _unary(floats.tanh),
    "Where": _where,
    "Xor": _binary(ew.logical_xor),
}
