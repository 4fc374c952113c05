"""`Where` over symbolic sizes gave bools: the dtype was that of the first input, the condition.

Its kind: whatever an operator makes of sizes has the same dtype with a symbolic size as without.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import Variable
from compiler.frontend.onnx import from_proto, run
from compiler.frontend.onnx.fold import FOLDS

NUMBERS = {"one": [1, 1], "yes": [True, False], "first": [0], "second": [1], "minus": [-1]}
INPUTS = {
    "Cast": "s", "Identity": "s", "ReduceProd": "s", "Squeeze": "row first", "Gather": "s first",
    "Reshape": "s minus", "Slice": "s first second", "Unsqueeze": "s first", "Where": "yes s one",
}  # fmt: skip
ATTRIBUTES = {"Cast": {"to": TensorProto.INT64}, "Concat": {"axis": 0}}


def dtype_of(op, variables):
    """Of what `op` makes of the sizes of an input (batch, 3)."""
    constants = [numpy_helper.from_array(np.array(v), name) for name, v in NUMBERS.items()]
    inputs = INPUTS.get(op, "s one").split()
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Unsqueeze", ["s", "first"], ["row"]),
        helper.make_node(op, inputs, ["y"], **ATTRIBUTES.get(op, {})),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        constants,
    )
    model = from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    feed = {"x": np.zeros((4, 3), np.float32)}
    return run(model, feed, "reference", variables=variables)["y"].dtype


@pytest.mark.parametrize("op", FOLDS)
def test_what_is_made_of_sizes_has_one_dtype(op):
    assert dtype_of(op, {"batch": Variable("batch", 1, 9)}) == dtype_of(op, {})
