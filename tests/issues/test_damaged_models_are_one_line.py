"""A damaged ONNX file ended in a KeyError of ours, or in an error that printed the whole file.

Their kind: whatever bytes a model is read from, it runs, or there is one line of error.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from compiler.errors import CompilerError
from compiler.frontend.onnx import load, run

X = np.arange(6, dtype=np.float32).reshape(2, 3)
LONGEST = 400  # characters of an error


def data():
    """A small model of several operators, as bytes."""
    weights = [numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Concat", ["a", "x"], ["b"], axis=1),
        helper.make_node("Softmax", ["b"], ["y"], axis=1),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, None]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def why_not(changed):
    """The error of a model read from these bytes, or nothing."""
    try:
        run(load(changed), {"x": X}, "reference")
    except CompilerError as error:
        return str(error)
    return ""


def is_one_line(text):
    return "\n" not in text and len(text) < LONGEST


def test_a_model_may_end_anywhere():
    whole = data()
    assert why_not(whole) == ""
    errors = [why_not(whole[:end]) for end in range(len(whole))]
    assert all(errors)
    assert [text for text in errors if not is_one_line(text)] == []


def test_any_bytes_of_a_model_may_be_wrong():
    whole, random = data(), np.random.default_rng(0)
    errors = []
    for _ in range(400):
        changed = bytearray(whole)
        for place in random.integers(len(whole), size=2):
            changed[place] = random.integers(256)
        errors.append(why_not(bytes(changed)))
    assert [text for text in errors if not is_one_line(text)] == []
