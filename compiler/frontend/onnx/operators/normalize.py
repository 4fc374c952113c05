"""Softmax and normalisations."""

from compiler.errors import ModelError
from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, reduce
from compiler.frontend.functions.creation import full_like
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.ir import BOOL


def _softmax_axes(call: Call) -> tuple[int, ...]:
    """Until opset 13 everything from the axis on is one row."""
    x = call.value(0)
    axis = as_axis(call.attribute("axis", 1 if call.opset < 13 else -1), x.ndim)
    return tuple(range(axis, x.ndim)) if call.opset < 13 else (axis,)


def _softmax(call: Call) -> Value:
    return reduce.softmax(call.value(0), _softmax_axes(call))


def _log_softmax(call: Call) -> Value:
    return reduce.log_softmax(call.value(0), _softmax_axes(call))


def _per_channel(value: Value, ndim: int) -> Value:
    return graph.reshape(value, (1, value.size) + (1,) * (ndim - 2))


def _batch_norm(call: Call) -> Value:
    x = call.value(0)
    scale, bias, mean, var = [_per_channel(call.value(i), x.ndim) for i in range(1, 5)]
    eps = float(call.attribute("epsilon", 1e-5))
    factor = ew.divide(scale, floats.sqrt(ew.add(var, eps)))
    return ew.add(ew.multiply(ew.subtract(x, mean), factor), bias)


def _instance_norm(call: Call) -> Value:
    x = call.value(0)
    scale, bias = [_per_channel(call.value(i), x.ndim) for i in (1, 2)]
    axes = tuple(range(2, x.ndim))
    normal = reduce.layer_norm(x, axes, float(call.attribute("epsilon", 1e-5)))
    return ew.add(ew.multiply(normal, scale), bias)


def _layer_norm(call: Call) -> tuple[Value, ...]:
    x, bias = call.value(0), call.optional(2)
    axes = tuple(range(as_axis(call.attribute("axis", -1), x.ndim), x.ndim))
    eps = float(call.attribute("epsilon", 1e-5))
    normal = ew.multiply(reduce.layer_norm(x, axes, eps), call.value(1))
    result = normal if bias is None else ew.add(normal, bias)
    mean, var = reduce.mean(x, axes, keepdims=True), reduce.var(x, axes, keepdims=True)
    return result, mean, floats.rsqrt(ew.add(var, eps))


def _dropout(call: Call) -> tuple[Value, ...]:
    if call.optional(2) is not None and call.numbers(2)[0]:
        raise ModelError(f"Dropout {call.name}: training mode is not supported")
    x = call.value(0)
    return x, full_like(x, 1, dtype=BOOL)


OPERATORS: dict[str, Operator] = {
    "BatchNormalization": _batch_norm,
    "Dropout": _dropout,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _log_softmax,
    "Softmax": _softmax,
}
