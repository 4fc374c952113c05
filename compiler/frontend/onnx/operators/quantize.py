"""Numbers as small integers: value = (integer - zero point) * scale."""

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import linalg, movement
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.onnx.operators.window import conv_of
from compiler.frontend.shapes import as_axis
from compiler.ir import FLOAT32, INT32, UINT8, DType


def _fitted(call: Call, factor: Value, x: Value) -> Value:
    """A scale or zero point of all, of each part along an axis, or of each block, beside `x`."""
    if factor.size == 1:
        return graph.reshape(factor, ())
    axis = as_axis(call.attribute("axis", 1), x.ndim)
    block = int(call.attribute("block_size", 0))
    if not block:
        shape = [1] * x.ndim
        shape[axis] = factor.size
        return graph.reshape(factor, tuple(shape))
    wide = movement.repeat(factor, block, axis)
    bounds = [(0, size) for size in wide.shape]
    bounds[axis] = (0, x.shape[axis])
    return graph.shrink(wide, tuple(bounds))


def _rounded(x: Value, zero: Value | None, dtype: DType) -> Value:
    """Rounded to the nearest integer, moved by the zero point, kept in the range of `dtype`."""
    whole = ew.round_(graph.cast(x, FLOAT32))
    moved = whole if zero is None else ew.add(whole, graph.cast(zero, FLOAT32))
    return graph.cast(ew.clip(moved, float(dtype.lowest), float(dtype.highest)), dtype)


def _quantize(call: Call) -> Value:
    x, zero = call.value(0), call.optional(2)
    dtype = call.dtype("output_dtype", UINT8) if zero is None else zero.dtype
    scale = _fitted(call, call.value(1), x)
    if call.attribute("precision", 0):
        wide = call.dtype("precision")
        x, scale = graph.cast(x, wide), graph.cast(scale, wide)
    if not x.dtype.is_float:
        x = graph.cast(x, scale.dtype)
    shifted = None if zero is None else _fitted(call, zero, x)
    return _rounded(ew.divide(x, scale), shifted, dtype)


def _dequantize(call: Call) -> Value:
    x, scale, zero = call.value(0), call.value(1), call.optional(2)
    number = graph.cast(x, FLOAT32)
    if zero is not None:
        number = ew.subtract(number, graph.cast(_fitted(call, zero, x), FLOAT32))
    product = ew.multiply(number, graph.cast(_fitted(call, scale, x), FLOAT32))
    return graph.cast(product, call.dtype("output_dtype", scale.dtype))


def _centred(x: Value, zero: Value | None, axis: int) -> Value:
    """int32 less the zero point, which may be one for each row or column."""
    number = graph.cast(x, INT32)
    if zero is None:
        return number
    return ew.subtract(number, _along(graph.cast(zero, INT32), x, axis))


def _along(factor: Value, x: Value, axis: int) -> Value:
    if factor.ndim != 1 or factor.size == 1:
        return graph.reshape(factor, ()) if factor.size == 1 else factor
    shape = [1] * x.ndim
    shape[axis] = factor.size
    return graph.reshape(factor, tuple(shape))


def _matmul_integer(call: Call) -> Value:
    a, b = call.value(0), call.value(1)
    return linalg.matmul(
        _centred(a, call.optional(2), max(a.ndim - 2, 0)), _centred(b, call.optional(3), b.ndim - 1)
    )


def _conv_integer(call: Call) -> Value:
    x, weight = call.value(0), call.value(1)
    return conv_of(
        call, _centred(x, call.optional(2), 1), _centred(weight, call.optional(3), 0), None
    )


def _qlinear_matmul(call: Call) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = [call.value(i) for i in range(8)]
    row, column = max(a.ndim - 2, 0), b.ndim - 1
    product = linalg.matmul(_centred(a, a_zero, row), _centred(b, b_zero, column))
    scale = ew.multiply(
        _along(graph.cast(a_scale, FLOAT32), product, product.ndim - 2),
        _along(graph.cast(b_scale, FLOAT32), product, product.ndim - 1),
    )
    scale = ew.divide(scale, graph.cast(_along(y_scale, product, product.ndim - 2), FLOAT32))
    return _rounded(ew.multiply(graph.cast(product, FLOAT32), scale), y_zero, y_zero.dtype)


def _qlinear_conv(call: Call) -> Value:
    x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero = [call.value(i) for i in range(8)]
    bias = call.optional(8)
    total = conv_of(call, _centred(x, x_zero, 1), _centred(weight, w_zero, 0), bias)
    scale = ew.divide(
        ew.multiply(_along(x_scale, total, 1), _along(w_scale, total, 1)), _along(y_scale, total, 1)
    )
    return _rounded(ew.multiply(graph.cast(total, FLOAT32), scale), y_zero, y_zero.dtype)


OPERATORS: dict[str, Operator] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
