"""Resize of integers gave zeros, GridSample of float16 float32: computed in the weights' dtype.

Their kind: whatever dtype an operator takes, its results have the one that its schema says, and
the numbers are those of float64, rounded or cut off.
"""

import numpy as np
import pytest

from compiler.frontend.onnx import run
from tests.frontend.test_onnx_operators import node

IMAGE = (np.arange(32).reshape(1, 2, 4, 4) * 37 % 101).astype(np.float64)
ROWS = IMAGE[0, 0]
GRID = np.linspace(-0.9, 0.9, 24, dtype=np.float32).reshape(1, 3, 4, 2)
SCALES = np.array([1, 1, 1.5, 2], np.float32)
INTEGERS, FLOATS = ("int8", "uint8", "int32", "int64"), ("float16", "float32")
ALL = INTEGERS + FLOATS
CALLS = {
    "Resize linear": (ALL, lambda x: ("Resize", (x, None, SCALES), {"mode": "linear"})),
    "Resize cubic": (ALL, lambda x: ("Resize", (x, None, SCALES), {"mode": "cubic"})),
    "GridSample": (ALL, lambda x: ("GridSample", (x, GRID), {"mode": "linear", "opset": 20})),
    "Shrink": (ALL, lambda x: ("Shrink", (x,), {"lambd": 0.5, "bias": 0.25})),
    "MeanVarianceNormalization": (FLOATS, lambda x: ("MeanVarianceNormalization", (x,), {})),
    "Attention": (FLOATS, lambda x: ("Attention", (x, x, x), {"opset": 23})),
    "Softmax": (FLOATS, lambda x: ("Softmax", (x,), {})),
    "HardSwish": (FLOATS, lambda x: ("HardSwish", (x,), {})),
}


def result(call, dtype):
    op, inputs, attributes = call(IMAGE.astype(dtype))
    model, feed = node(op, *inputs, **attributes)
    return run(model, feed, "reference")["y0"]


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, (dtypes, _) in CALLS.items() for dtype in dtypes]
)
def test_a_result_has_the_dtype_of_the_input_and_the_numbers_of_float64(name, dtype):
    call = CALLS[name][1]
    found, wanted = result(call, dtype), result(call, np.float64)
    assert found.dtype == dtype
    if dtype in INTEGERS:
        whole = np.rint(wanted) if name.startswith("Resize") else np.trunc(wanted)
        limits = np.iinfo(dtype)
        whole = np.clip(whole, limits.min, limits.max)
        assert abs(found - whole).max() <= 1  # a sum at the edge between two integers
        assert (found == whole).mean() > 0.9
    else:
        np.testing.assert_allclose(found, wanted, rtol=4e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_statistics_of_a_layer_normalization_are_float32(dtype):
    x = ROWS.astype(dtype)
    model, feed = node("LayerNormalization", x, x[0], outputs=3, opset=17)
    found = run(model, feed, "reference")
    assert [found[f"y{i}"].dtype for i in range(3)] == [dtype, "float32", "float32"]
