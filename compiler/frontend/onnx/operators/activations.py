"""Operators that bend a value: activations and their like."""

import math
from collections.abc import Callable

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, reduce
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.ir import FLOAT64


def _unary(function: Callable[[Value], Value]) -> Operator:
    return lambda call: function(call.value(0))


def _leaky_relu(call: Call) -> Value:
    x = call.value(0)
    return ew.where(ew.less(x, 0), ew.multiply(x, float(call.attribute("alpha", 0.01))), x)


def _prelu(call: Call) -> Value:
    x, slope = call.value(0), call.value(1)
    return ew.where(ew.less(x, 0), ew.multiply(x, slope), x)


def _elu(call: Call) -> Value:
    x, alpha = call.value(0), float(call.attribute("alpha", 1.0))
    return ew.where(ew.less(x, 0), ew.multiply(floats.expm1(x), alpha), x)


def _celu(call: Call) -> Value:
    x, alpha = call.value(0), float(call.attribute("alpha", 1.0))
    bent = ew.multiply(floats.expm1(ew.divide(x, alpha)), alpha)
    return ew.add(ew.maximum(x, 0), ew.minimum(bent, 0))


def _selu(call: Call) -> Value:
    x = call.value(0)
    alpha = float(call.attribute("alpha", 1.67326319217681884765625))
    gamma = float(call.attribute("gamma", 1.05070102214813232421875))
    bent = ew.multiply(floats.expm1(x), alpha)
    return ew.multiply(ew.where(ew.less_equal(x, 0), bent, x), gamma)


def _hard_sigmoid(call: Call) -> Value:
    alpha, beta = float(call.attribute("alpha", 0.2)), float(call.attribute("beta", 0.5))
    return ew.clip(ew.add(ew.multiply(call.value(0), alpha), beta), 0.0, 1.0)


def _hard_swish(call: Call) -> Value:
    x = call.value(0)
    return ew.multiply(x, ew.clip(ew.add(ew.multiply(x, 1.0 / 6.0), 0.5), 0.0, 1.0))


def _gelu(call: Call) -> Value:
    x = call.value(0)
    if call.attribute("approximate", "none") != "tanh":
        return floats.gelu(x)
    cube = ew.multiply(ew.multiply(x, x), x)
    inner = ew.multiply(ew.add(x, ew.multiply(cube, 0.044715)), math.sqrt(2 / math.pi))
    return ew.multiply(ew.multiply(x, 0.5), ew.add(floats.tanh(inner), 1.0))


def _mish(call: Call) -> Value:
    x = call.value(0)
    return ew.multiply(x, floats.tanh(floats.softplus(x)))


def _swish(call: Call) -> Value:
    x = call.value(0)
    return ew.multiply(x, floats.sigmoid(ew.multiply(x, float(call.attribute("alpha", 1.0)))))


def _shrink(call: Call) -> Value:
    x = call.value(0) if call.value(0).dtype.is_float else graph.cast(call.value(0), FLOAT64)
    bias, border = float(call.attribute("bias", 0.0)), float(call.attribute("lambd", 0.5))
    below = ew.where(ew.less(x, -border), ew.add(x, bias), ew.constant(x, 0))
    return ew.where(ew.greater(x, border), ew.subtract(x, bias), below)


def _softsign(call: Call) -> Value:
    x = call.value(0)
    return ew.divide(x, ew.add(ew.abs_(x), 1.0))


def _thresholded_relu(call: Call) -> Value:
    x = call.value(0)
    return ew.where(ew.greater(x, float(call.attribute("alpha", 1.0))), x, ew.constant(x, 0))


def _hardmax(call: Call) -> Value:
    """1 at the first greatest element, 0 elsewhere; until opset 13 rows are all later axes."""
    x = call.value(0)
    axis = as_axis(call.attribute("axis", 1 if call.opset < 13 else -1), x.ndim)
    rows = x
    if call.opset < 13:
        rows = graph.reshape(x, (*x.shape[:axis], math.prod(x.shape[axis:])))
    best = reduce.argmax(rows, axis, keepdims=True)
    is_best = ew.equal(arange_like(rows, axis), best)
    found = ew.where(is_best, ew.constant(rows, 1), ew.constant(rows, 0))
    return graph.reshape(found, x.shape)


OPERATORS: dict[str, Operator] = {
    "Celu": _celu,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Hardmax": _hardmax,
    "LeakyRelu": _leaky_relu,
    "Mish": _mish,
    "PRelu": _prelu,
    "Relu": _unary(floats.relu),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": _unary(floats.sigmoid),
    "Softplus": _unary(floats.softplus),
    "Softsign": _softsign,
    "Swish": _swish,
    "ThresholdedRelu": _thresholded_relu,
}
