"""Every supported operator equals ONNX's reference evaluator on small models."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.onnx import evaluate_reference, from_proto, run

F = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
G = np.linspace(2, -1, 12, dtype=np.float32).reshape(3, 4)
P = np.abs(F) + np.float32(0.5)
INTS = np.arange(24, dtype=np.int32).reshape(2, 3, 4) - 9
IMAGE = np.sin(np.arange(2 * 4 * 7 * 6, dtype=np.float32)).reshape(2, 4, 7, 6)
BOOLS = F > 0


def ints(*numbers):
    return np.array(numbers, np.int64)


def node(op, *inputs, opset=18, outputs=1, **attributes):
    """A model of one operator; arrays are inputs, but 64-bit integer vectors initializers."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    given = {name: array for name, array in zip(names, inputs, strict=True) if name}
    constants = {n: a for n, a in given.items() if a.dtype == np.int64 and a.ndim <= 1}
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
        if n not in constants
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attributes)],
        "one",
        infos,
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return from_proto(proto), {n: a for n, a in given.items() if n not in constants}


UNARY = ["Abs", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish"]
UNARY += ["Identity", "IsNaN", "LeakyRelu", "Neg", "Relu", "Round", "Sigmoid", "Sign", "Sin"]
UNARY += ["Sinh", "Softplus", "Tan", "Tanh"]
POSITIVE = ["Log", "Reciprocal", "Sqrt"]
BINARY = ["Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean"]
BINARY += ["Min", "Mul", "PRelu", "Sub", "Sum"]
REDUCTIONS = ["L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]

MODELS = {
    **{name: node(name, F) for name in UNARY},
    **{name: node(name, P) for name in POSITIVE},
    **{name: node(name, F, G) for name in BINARY},
    **{f"{name} of integers": node(name, INTS, INTS[:1] + 20) for name in ("Add", "Div", "Mod")},
    **{f"Reduce{name}": node(f"Reduce{name}", P, axes=[0, -1], opset=11) for name in REDUCTIONS},
    **{f"{name} of bools": node(name, BOOLS, ~BOOLS[:1]) for name in ("And", "Or", "Xor")},
    **{f"{name} of integers": node(name, INTS, INTS) for name in ("BitwiseAnd", "BitwiseOr")},
    "BitwiseXor": node("BitwiseXor", INTS, INTS[::-1].copy()),
    "BitwiseNot": node("BitwiseNot", INTS),
    "Not": node("Not", BOOLS),
    "Mod with fmod": node("Mod", F, P, fmod=1),
    "Pow": node("Pow", P, F),
    "Pow to an integer": node("Pow", F, np.array(2, np.int32)),
    "Clip by inputs": node("Clip", F, np.float32(-1).reshape(()), np.float32(2).reshape(())),
    "Clip from below": node("Clip", F, np.float32(-1).reshape(())),
    "Clip by attributes": node("Clip", F, min=-1.0, max=0.5, opset=7),
    "Where": node("Where", BOOLS, F, G),
    "Cast": node("Cast", F, to=TensorProto.INT32),
    "ReduceLogSum": node("ReduceLogSum", P, axes=[1], opset=11),
    "ReduceSum by input": node("ReduceSum", F, ints(1), keepdims=0),
    "ReduceSum of all": node("ReduceSum", F, keepdims=0),
    "ReduceSum of none": node("ReduceSum", F, noop_with_empty_axes=1),
    "ArgMax": node("ArgMax", INTS % 3, axis=2),
    "ArgMax last": node("ArgMax", INTS % 3, axis=2, select_last_index=1, keepdims=0),
    "ArgMin": node("ArgMin", F, axis=1),
    "Reshape": node("Reshape", F, ints(0, -1)),
    "Reshape with zeros": node("Reshape", F[:0], ints(0, 4), allowzero=1),
    "Transpose": node("Transpose", F, perm=[2, 0, 1]),
    "Transpose all": node("Transpose", F),
    "Unsqueeze by attribute": node("Unsqueeze", F, axes=[0, 4], opset=11),
    "Unsqueeze by input": node("Unsqueeze", F, ints(-1)),
    "Squeeze": node("Squeeze", F[:1], ints(0)),
    "Squeeze all": node("Squeeze", F[:1, :1]),
    "Flatten": node("Flatten", F, axis=2),
    "Flatten all": node("Flatten", F, axis=3),
    "Concat": node("Concat", F, F * 2, axis=1),
    "Split in two": node("Split", F, axis=2, outputs=2, num_outputs=2),
    "Split unevenly": node("Split", F, ints(1, 3), axis=2, outputs=2),
    "Slice": node("Slice", F, ints(0, 1), ints(2, 3), ints(0, 2), ints(1, 2)),
    "Slice backwards": node("Slice", F, ints(-1), ints(-1000), ints(2), ints(-1)),
    "Slice by attributes": node("Slice", F, starts=[1], ends=[100], axes=[1], opset=9),
    "Expand": node("Expand", F[:, :1], ints(5, 1, 3, 1)),
    "Tile": node("Tile", F, ints(1, 2, 3)),
    "Gather": node("Gather", F, ints(2, 0, -1), axis=1),
    "Pad": node("Pad", F, ints(0, 1, 2, 1, 0, 0)),
    "Pad by a number": node("Pad", F, ints(0, 1, 2, 1, 0, 0), np.float32(7).reshape(())),
    "Shape": node("Shape", F),
    "Shape in part": node("Shape", F, start=1, end=-1),
    "Size": node("Size", F),
    "Constant": node("Constant", value=numpy_helper.from_array(G)),
    "Constant of floats": node("Constant", value_floats=[1.0, 2.5]),
    "Constant of an int": node("Constant", value_int=7),
    "ConstantOfShape": node("ConstantOfShape", ints(2, 3), value=numpy_helper.from_array(ints(4))),
    "Range": node("Range", *[np.array(n, np.int64) for n in (3, 11, 2)]),
    "MatMul": node("MatMul", F, G.T.copy()),
    "Gemm": node("Gemm", G, G, np.float32([[1], [2], [3]]), transB=1, alpha=0.5, beta=2.0),
    "Softmax": node("Softmax", F, axis=1),
    "LogSoftmax": node("LogSoftmax", F),
    "BatchNormalization": node("BatchNormalization", F, *[P[0, :, 0] + i for i in range(4)]),
    "InstanceNormalization": node("InstanceNormalization", IMAGE, P[0, 0], F[0, 0]),
    "LayerNormalization": node("LayerNormalization", F, P[0, 0], F[0, 0]),
    "Dropout": node("Dropout", F),
    "Dropout with its mask": node("Dropout", F, outputs=2),
    "LayerNormalization with statistics": node(
        "LayerNormalization", F, P[0], F[0], axis=1, outputs=3
    ),
    "Conv": node("Conv", IMAGE, IMAGE[:, :, :3, :2].copy(), np.float32([1, 2]), pads=[1, 0, 0, 2]),
    "Conv in groups": node(
        "Conv", IMAGE, IMAGE[:, :2, :3, :2].copy(), group=2, strides=[2, 1], dilations=[1, 2]
    ),
    "Conv with same padding": node(
        "Conv", IMAGE, IMAGE[:, :, :2, :2].copy(), auto_pad="SAME_UPPER", strides=[2, 2]
    ),
    "MaxPool": node("MaxPool", IMAGE, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
    "MaxPool with places": node(
        "MaxPool", IMAGE, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1], outputs=2
    ),
    "LpPool": node("LpPool", IMAGE, kernel_shape=[3, 2], pads=[1, 0, 1, 1], dilations=[2, 1], p=3),
    "MaxPool rounded up": node(
        "MaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
    ),
    "AveragePool": node("AveragePool", IMAGE, kernel_shape=[2, 2], pads=[1, 1, 0, 0]),
    "AveragePool with padding": node(
        "AveragePool", IMAGE, kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1
    ),
    "GlobalAveragePool": node("GlobalAveragePool", IMAGE),
    "GlobalMaxPool": node("GlobalMaxPool", IMAGE),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_an_operator_equals_the_reference_evaluator(name):
    model, feed = MODELS[name]
    found, wanted = run(model, feed, "reference"), evaluate_reference(model, feed)
    for output, array in wanted.items():
        assert (found[output].shape, found[output].dtype) == (array.shape, array.dtype)
        np.testing.assert_allclose(found[output], array, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "wanted"), [("ReduceMax", -np.inf), ("ReduceMin", np.inf)])
def test_the_extreme_of_nothing_is_what_never_wins(name, wanted):
    model, feed = node(name, F[:, :0], ints(1), keepdims=0)
    assert np.array_equal(run(model, feed, "reference")["y0"], np.full((2, 4), wanted, np.float32))


def drawn(op, *inputs, **attributes):
    model, feed = node(op, *inputs, **attributes)
    return run(model, feed, "reference")


def test_dropout_in_training_scales_what_it_keeps():
    half, training = np.float32(0.5).reshape(()), np.array(True)
    ones = np.ones((40, 50), np.float32)
    found = drawn("Dropout", ones, half, training, outputs=2, seed=7)
    assert np.array_equal(found["y0"], np.where(found["y1"], np.float32(2), np.float32(0)))
    assert 0.45 < found["y1"].mean() < 0.55


@pytest.mark.parametrize(
    ("op", "attributes", "mean", "spread"),
    [
        ("RandomUniform", {"low": 2.0, "high": 4.0}, 3.0, 2 / 12**0.5),
        ("RandomNormal", {"mean": -1.0, "scale": 2.0}, -1.0, 2.0),
    ],
)
def test_random_numbers_have_the_distribution_and_the_seed_asked_for(op, attributes, mean, spread):
    shaped = drawn(op, shape=[60, 70], seed=3.0, **attributes)["y0"]
    like = drawn(f"{op}Like", np.zeros((60, 70), np.float32), seed=3.0, **attributes)["y0"]
    other = drawn(op, shape=[60, 70], seed=4.0, **attributes)["y0"]
    assert np.array_equal(shaped, like)
    assert not np.array_equal(shaped, other)
    assert abs(shaped.mean() - mean) < 0.1
    assert abs(shaped.std() - spread) < 0.1


def test_a_coin_falls_as_often_as_it_should():
    chances = np.full((60, 70), 0.3, np.float32)
    found = drawn("Bernoulli", chances, seed=1.0, dtype=TensorProto.INT32)["y0"]
    assert found.dtype == np.int32
    assert set(np.unique(found)) == {0, 1}
    assert abs(found.mean() - 0.3) < 0.03


def test_negative_padding_cuts_off():  # the reference evaluator refuses it
    model, feed = node("Pad", F, ints(0, -1, 2, 0, 0, -1))
    wanted = np.pad(F[:, 1:, :3], ((0, 0), (0, 0), (2, 0)))
    assert np.array_equal(run(model, feed, "reference")["y0"], wanted)


def test_until_opset_13_softmax_is_over_all_axes_from_the_given_one():  # the evaluator ignores it
    model, feed = node("Softmax", F, axis=1, opset=11)
    e = np.exp(F - F.max((1, 2), keepdims=True))
    wanted = e / e.sum((1, 2), keepdims=True)
    np.testing.assert_allclose(run(model, feed, "reference")["y0"], wanted, rtol=1e-6)


def test_the_models_of_these_tests_are_valid():
    for model, _ in MODELS.values():
        for item in model.proto.graph.node:
            assert onnx.defs.has(item.op_type)
