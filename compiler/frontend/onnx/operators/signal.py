"""Transforms of signals."""

import math

import onnx

from compiler.frontend import graph
from compiler.frontend.dtypes import as_dtype
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, movement
from compiler.frontend.functions.creation import counting
from compiler.frontend.functions.fourier import Pair, fourier, real_inverse
from compiler.frontend.functions.indexing import getitem
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.ir import FLOAT64, INT64


def _dft(call: Call) -> Value:
    x = call.value(0)
    if call.opset >= 20:
        axis = as_axis(int(call.number(2, -2)), x.ndim)
    else:
        axis = as_axis(call.attribute("axis", 1), x.ndim)
    inverse, one_sided = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    size = x.shape[axis]
    is_real_result = inverse and one_sided
    length = int(call.number(1, 2 * (size - 1) if is_real_result else size))
    parts = _parts(movement.moveaxis(x, axis, -2))
    if is_real_result:
        result = movement.expand_dims(real_inverse(parts, length), -1)
    else:
        kept = length // 2 + 1 if one_sided else None
        result = movement.stack(fourier(parts, length, inverse=inverse, kept=kept), -1)
    return graph.cast(movement.moveaxis(result, -2, axis), x.dtype)


def _parts(x: Value) -> Pair:
    """Real and imaginary parts, out of the last axis; without the latter, zeros."""
    real = getitem(x, (..., 0))
    return real, getitem(x, (..., 1)) if x.shape[-1] == 2 else ew.constant(real, 0)


def _stft(call: Call) -> Value:
    x, step = call.value(0), int(call.numbers(1)[0])
    window = call.optional(2)
    length = int(call.number(3, x.shape[1] if window is None else window.size))
    parts = _parts(x if x.ndim == 3 else movement.expand_dims(x, -1))
    frames = [graph.windows(part, 1, length, step) for part in parts]
    if window is not None:
        frames = [ew.multiply(frame, window) for frame in frames]
    kept = length // 2 + 1 if call.attribute("onesided", 1) else None
    return movement.stack(fourier((frames[0], frames[1]), length, kept=kept), -1)


def _mel_weight_matrix(call: Call) -> Value:
    """Triangles over the bins of a spectrum, at equal distances on the mel scale."""
    bands, length, rate = [int(call.numbers(i)[0]) for i in range(3)]
    low, high = [2595 * math.log10(1 + call.numbers(i)[0] / 700) for i in (3, 4)]
    step = (high - low) / (bands + 2)
    mel = ew.add(ew.multiply(counting(bands + 2, call.device, FLOAT64), step), low)
    hertz = ew.multiply(floats.expm1(ew.multiply(mel, math.log(10) / 2595)), 700.0)
    edges = ew.floor(ew.divide(ew.multiply(hertz, float(length + 1)), float(rate)))
    edges = graph.contiguous(graph.cast(edges, INT64))
    left, centre, right = [getitem(edges, slice(i, i + bands)) for i in range(3)]
    bins = length // 2 + 1
    at = graph.reshape(counting(bins, call.device, INT64), (bins, 1))

    def slope(above: Value, span: Value) -> Value:
        return ew.divide(graph.cast(above, FLOAT64), graph.cast(ew.maximum(span, 1), FLOAT64))

    to_centre, from_centre = ew.subtract(centre, left), ew.subtract(right, centre)
    rising = ew.where(ew.equal(to_centre, 0), 1.0, slope(ew.subtract(at, left), to_centre))
    falling = slope(ew.subtract(right, at), from_centre)
    in_rise = ew.logical_and(ew.less_equal(left, at), ew.less_equal(at, centre))
    in_fall = ew.logical_and(ew.less_equal(centre, at), ew.less(at, right))
    weight = ew.where(in_fall, falling, ew.where(in_rise, rising, 0.0))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(call.attribute("output_datatype", 1))
    return graph.cast(weight, as_dtype(dtype))


OPERATORS: dict[str, Operator] = {
    "DFT": _dft,
    "MelWeightMatrix": _mel_weight_matrix,
    "STFT": _stft,
}
