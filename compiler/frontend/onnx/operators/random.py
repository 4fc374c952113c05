"""Random numbers, by counting: the same seed gives the same numbers on every backend.

They are not those of other runtimes, which ONNX leaves free. Without a seed the seed is 0.
"""

import numpy as np

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import random
from compiler.frontend.graph import Shape, Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.ir import BOOL, FLOAT32, DType


def _seed(call: Call) -> int:
    """ONNX's seeds are float32: their bits count."""
    number = np.float32(call.attribute("seed", 0.0))
    return int(number.view(np.uint32))


def _uniform(call: Call, shape: Shape, dtype: DType) -> Value:
    low, high = float(call.attribute("low", 0.0)), float(call.attribute("high", 1.0))
    return random.uniform(shape, low, high, seed=_seed(call), dtype=dtype, device=call.device)


def _normal(call: Call, shape: Shape, dtype: DType) -> Value:
    found = random.randn(shape, seed=_seed(call), dtype=dtype, device=call.device)
    scaled = ew.multiply(found, float(call.attribute("scale", 1.0)))
    return ew.add(scaled, float(call.attribute("mean", 0.0)))


def _random_uniform(call: Call) -> Value:
    return _uniform(call, tuple(call.attribute("shape", ())), call.dtype("dtype", FLOAT32))


def _random_normal(call: Call) -> Value:
    return _normal(call, tuple(call.attribute("shape", ())), call.dtype("dtype", FLOAT32))


def _uniform_like(call: Call) -> Value:
    x = call.value(0)
    return _uniform(call, x.shape, call.dtype("dtype", x.dtype))


def _normal_like(call: Call) -> Value:
    x = call.value(0)
    return _normal(call, x.shape, call.dtype("dtype", x.dtype))


def _bernoulli(call: Call) -> Value:
    x = call.value(0)
    drawn = random.rand(x.shape, seed=_seed(call), dtype=FLOAT32, device=call.device)
    return graph.cast(ew.less(drawn, graph.cast(x, FLOAT32)), call.dtype("dtype", x.dtype))


def _dropout(call: Call) -> tuple[Value, ...]:
    """Outside training nothing is dropped; until opset 12 a node never trains."""
    x = call.value(0)
    ratio = float(call.number(1, 0.5)) if call.opset >= 12 else 0.0
    is_training = call.opset >= 12 and bool(call.number(2, 0))
    if not is_training or ratio == 0.0:
        return x, graph.full(1, BOOL, x.shape, x.device)
    drawn = random.rand(x.shape, seed=_seed(call), dtype=FLOAT32, device=call.device)
    kept = ew.greater_equal(drawn, ratio)
    scaled = ew.multiply(x, 1.0 / (1.0 - ratio)) if ratio < 1.0 else x
    return ew.where(kept, scaled, ew.constant(x, 0)), kept


OPERATORS: dict[str, Operator] = {
    "Bernoulli": _bernoulli,
    "Dropout": _dropout,
    "RandomNormal": _random_normal,
    "RandomNormalLike": _normal_like,
    "RandomUniform": _random_uniform,
    "RandomUniformLike": _uniform_like,
}
