"""Softmax and normalisations."""

import onnx

from compiler.frontend import dtypes, graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, reduce
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.ir import FLOAT32

FLOAT = onnx.TensorProto.FLOAT


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


def _batch_norm(call: Call) -> Value | tuple[Value, ...]:
    """In training, by the statistics of the batch, which move the running ones."""
    x = call.value(0)
    scale, bias, mean, var = [call.value(i) for i in range(1, 5)]
    eps = float(call.attribute("epsilon", 1e-5))
    if not call.attribute("spatial", 1):  # opsets 7 and 8: numbers for each element of a row
        row = (1, *x.shape[1:])
        scale, bias, mean, var = [graph.reshape(v, row) for v in (scale, bias, mean, var)]
        return _scaled(x, scale, bias, mean, var, eps)
    if not call.attribute("training_mode", 0):
        return _normalized(x, scale, bias, mean, var, eps)
    axes = (0, *range(2, x.ndim))
    batch_mean, batch_var = reduce.mean(x, axes), reduce.var(x, axes)
    kept = float(call.attribute("momentum", 0.9))

    def moved(old: Value, new: Value) -> Value:
        return ew.add(ew.multiply(old, kept), ew.multiply(new, 1 - kept))

    result = _normalized(x, scale, bias, batch_mean, batch_var, eps)
    return result, moved(mean, batch_mean), moved(var, batch_var)


def _normalized(x: Value, scale: Value, bias: Value, mean: Value, var: Value, eps: float) -> Value:
    scale, bias, mean, var = [_per_channel(value, x.ndim) for value in (scale, bias, mean, var)]
    return _scaled(x, scale, bias, mean, var, eps)


def _scaled(x: Value, scale: Value, bias: Value, mean: Value, var: Value, eps: float) -> Value:
    factor = ew.divide(scale, floats.sqrt(ew.add(var, eps)))
    return graph.cast(ew.add(ew.multiply(ew.subtract(x, mean), factor), bias), x.dtype)


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
    wide = graph.cast(x, dtypes.accumulator(x.dtype))
    mean, var = reduce.mean(wide, axes, keepdims=True), reduce.var(wide, axes, keepdims=True)
    stash = FLOAT32 if call.attribute("stash_type", FLOAT) == FLOAT else x.dtype
    return result, graph.cast(mean, stash), graph.cast(floats.rsqrt(ew.add(var, eps)), stash)


def _local_response(call: Call) -> Value:
    """Divided by a power of the squares of the channels around."""
    x, size = call.value(0), int(call.attribute("size", 1))
    before = (size - 1) // 2
    widths = [(0, 0)] * x.ndim
    widths[1] = (before, size - 1 - before)
    around = graph.windows(graph.pad(ew.square(x), tuple(widths)), 1, size)
    total = reduce.sum_(around, 2)
    scaled = ew.multiply(total, float(call.attribute("alpha", 1e-4)) / size)
    base = ew.add(scaled, float(call.attribute("bias", 1.0)))
    return ew.divide(x, ew.power(base, float(call.attribute("beta", 0.75))))


def _lp_norm(call: Call) -> Value:
    x, p = call.value(0), int(call.attribute("p", 2))
    axis = as_axis(call.attribute("axis", -1), x.ndim)
    if p == 1:
        length = reduce.sum_(ew.abs_(x), axis, keepdims=True)
    else:
        length = reduce.vector_norm(x, axis, keepdims=True)
    return ew.where(ew.equal(length, 0), ew.constant(x, 0), ew.divide(x, length))


def _rms_norm(call: Call) -> Value:
    x, scale = call.value(0), call.value(1)
    axes = tuple(range(as_axis(call.attribute("axis", -1), x.ndim), x.ndim))
    wide = graph.cast(x, dtypes.accumulator(x.dtype))
    square = reduce.mean(ew.square(wide), axes, keepdims=True)
    root = floats.sqrt(ew.add(square, float(call.attribute("epsilon", 1e-5))))
    return graph.cast(ew.multiply(graph.cast(ew.divide(wide, root), x.dtype), scale), scale.dtype)


OPERATORS: dict[str, Operator] = {
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LRN": _local_response,
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _log_softmax,
    "LpNormalization": _lp_norm,
    "RMSNormalization": _rms_norm,
    "Softmax": _softmax,
}
