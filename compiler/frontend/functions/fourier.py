"""Discrete Fourier transforms as products with the roots of unity. Complex numbers are pairs."""

import math

from compiler.frontend import dtypes, graph
from compiler.frontend.functions import division, floats, linalg, movement
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions.creation import counting
from compiler.frontend.graph import Value
from compiler.ir import FLOAT64, INT64, DType

Pair = tuple[Value, Value]  # real and imaginary parts


def _roots(rows: int, columns: int, length: int, sign: int, dtype: DType, device: str) -> Pair:
    """[j, k]: cos and sin of sign * 2 pi j k / length. The product is reduced as an integer."""
    j = graph.reshape(counting(rows, device, INT64), (rows, 1))
    k = graph.reshape(counting(columns, device, INT64), (1, columns))
    turn = division.remainder(ew.multiply(j, k), length)
    angle = ew.multiply(graph.cast(turn, FLOAT64), sign * 2 * math.pi / length)
    return graph.cast(floats.cos(angle), dtype), graph.cast(floats.sin(angle), dtype)


def fourier(x: Pair, length: int, *, inverse: bool = False, kept: int | None = None) -> Pair:
    """The transform along the last axis, cut or padded to `length`; the first `kept` of it."""
    real, imaginary = [graph.contiguous(_sized(part, length)) for part in x]
    count = length if kept is None else kept
    wide = dtypes.accumulator(real.dtype)
    cos, sin = _roots(length, count, length, 1 if inverse else -1, wide, real.device)
    cos, sin = graph.contiguous(cos), graph.contiguous(sin)
    new_real = ew.subtract(linalg.matmul(real, cos), linalg.matmul(imaginary, sin))
    new_imaginary = ew.add(linalg.matmul(real, sin), linalg.matmul(imaginary, cos))
    if inverse:
        return ew.divide(new_real, float(length)), ew.divide(new_imaginary, float(length))
    return new_real, new_imaginary


def real_inverse(x: Pair, length: int) -> Value:
    """The real signal of `length` whose one-sided transform is `x`."""
    count = length // 2 + 1
    real, imaginary = [graph.contiguous(_sized(part, count)) for part in x]
    cos, sin = _roots(count, length, length, 1, real.dtype, real.device)
    place = counting(count, real.device, INT64)
    is_single = ew.equal(place, 0)
    if length % 2 == 0:
        is_single = ew.logical_or(is_single, ew.equal(place, length // 2))
    weight = ew.where(is_single, graph.full(1.0, real.dtype, (count,), real.device), 2.0)
    real, imaginary = ew.multiply(real, weight), ew.multiply(imaginary, weight)
    total = ew.subtract(
        linalg.matmul(real, graph.contiguous(cos)), linalg.matmul(imaginary, graph.contiguous(sin))
    )
    return ew.divide(total, float(length))


def _sized(x: Value, length: int) -> Value:
    size = x.shape[-1]
    bounds = [(0, n) for n in x.shape[:-1]]
    cut = graph.shrink(x, (*bounds, (0, min(size, length))))
    return movement.pad(cut, [*[(0, 0)] * (x.ndim - 1), (0, max(length - size, 0))])
