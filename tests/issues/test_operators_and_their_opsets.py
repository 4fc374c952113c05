"""Found by holding attributes of every opset against ONNX's text, where its evaluator is silent.

The beta of `Affine` in a recurrent layer was dropped; `Hardmax` before opset 13 took each later
axis for a row; the `directions` of the first `Scan` were not read; a backwards `Slice` that starts
before the first element took nothing; parts of a `Split` that are not all were stretched; and the
mean that a `LayerNormalization` of float16 gives as float32 was rounded to float16.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper

from compiler.errors import ModelError
from compiler.frontend.onnx import from_proto, run
from tests.frontend.test_onnx_operators import F, ints, node


def result(op, *inputs, name="y0", **attributes):
    model, feed = node(op, *inputs, **attributes)
    return run(model, feed, "reference")[name]


WITH_NUMBERS = {
    "Affine": lambda x, a, b: a * x + b,
    "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
}
WITH_TWO = {"Affine", "HardSigmoid", "ScaledTanh"}


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_activations_take_their_numbers_in_order(name):
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(1, 8, 1)  # one step, so that y is f(x)
    betas = [0.3, 0.4] if name in WITH_TWO else [0.4]
    found = result(
        "RNN", x, np.ones((2, 1, 1), np.float32), np.zeros((2, 1, 1), np.float32), hidden_size=1,
        direction="bidirectional", activations=[name, "Affine"], activation_alpha=[0.7, 0.6],
        activation_beta=betas, opset=14,
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 0], WITH_NUMBERS[name](x, 0.7, 0.3), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 0.6 * x + 0.4, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_before_opset_13_all_later_axes_are_one_row_of_a_hardmax(axis):
    found = result("Hardmax", F, axis=axis, opset=11)
    rows = F.reshape(int(np.prod(F.shape[:axis])), -1)
    wanted = np.eye(rows.shape[1], dtype=np.float32)[rows.argmax(1)]
    assert np.array_equal(found, wanted.reshape(F.shape))


def test_the_first_scan_had_directions():
    def info(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["y"])],
        "body", [info("s"), info("x")], [info("t"), info("y")],
    )  # fmt: skip
    scan = helper.make_node(
        "Scan", ["", "S", "X"], ["T", "Y"], body=body, num_scan_inputs=1, directions=[1]
    )
    graph = helper.make_graph(
        [scan], "g", [info("S", 2), info("X", 2, 3)], [info("T", 2), info("Y", 2, 3)]
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = run(from_proto(proto), {"S": np.zeros(2, np.float32), "X": x}, "reference")
    assert np.array_equal(found["Y"], x[:, ::-1].cumsum(1))


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [(-10, -20, [0]), (-10, 3, []), (-5, -20, [0]), (-4, -20, [1, 0]), (9, -6, [4, 3, 2, 1, 0])],
)
def test_backwards_slices_start_at_the_first_where_they_would_before_it(start, end, wanted):
    x = np.arange(5, dtype=np.float32)
    found = result("Slice", x, ints(start), ints(end), ints(0), ints(-1))
    assert found.tolist() == wanted


@pytest.mark.parametrize("parts", [(1, 1), (2, 2)])
@pytest.mark.parametrize("opset", [11, 13])
def test_parts_of_a_split_are_all_of_it(parts, opset):
    given = [ints(*parts)] if opset == 13 else []
    attributes = {} if opset == 13 else {"split": parts}
    with pytest.raises(ModelError, match=r"Split.* of an axis of 3"):
        result("Split", F, *given, axis=1, outputs=2, opset=opset, **attributes)


def test_statistics_of_a_layer_are_as_exact_as_their_dtype():
    x = (F * 3 + 20).astype(np.float16)
    scale = np.ones(x.shape[-1], np.float16)
    found = result("LayerNormalization", x, scale, None, outputs=3, opset=17, name="y1")
    wanted = x.astype(np.float64).mean(-1, keepdims=True)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
