"""A `Loop` of no rounds was refused, and a `Scan` of no rows failed within: what their bodies would
make has a shape all the same.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.onnx import from_proto, run

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.ones((2, 3), np.float32)


def info(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def program(node, x, constants):
    made = [info(name, TensorProto.UNDEFINED) for name in node.output]
    arrays = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph([node], "g", [info("x", shape=x.shape)], made, arrays)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    return run(from_proto(proto), {"x": x}, "reference")


@pytest.mark.parametrize(("rounds", "goes_on"), [(0, True), (-1, True), (5, False)])
def test_a_loop_of_no_rounds_keeps_its_state_and_gives_no_rows(rounds, goes_on):
    nodes = [
        helper.make_node("Add", ["s", "x"], ["t"]),
        helper.make_node("Identity", ["c"], ["d"]),
        helper.make_node("Cast", ["t"], ["y"], to=INT),
    ]
    inputs = [info("i", INT, []), info("c", BOOL, []), info("s", shape=[2, 3])]
    outputs = [info("d", BOOL, []), info("t"), info("y", INT)]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    node = helper.make_node("Loop", ["M", "C", "x"], ["S", "Y"], body=body)
    found = program(node, X, {"M": np.int64(rounds), "C": np.bool_(goes_on)})
    assert np.array_equal(found["S"], X)
    assert (found["Y"].shape, found["Y"].dtype) == ((0, 2, 3), np.int64)


@pytest.mark.parametrize(("axis", "shape"), [(0, (0, 3)), (1, (3, 0)), (-1, (3, 0))])
def test_a_scan_of_no_rows_keeps_its_state_and_gives_no_rows(axis, shape):
    nodes = [
        helper.make_node("Add", ["s", "v"], ["t"]),
        helper.make_node("Mul", ["t", "v"], ["y"]),
    ]
    outputs = [info("t"), info("y")]
    body = helper.make_graph(nodes, "body", [info("s", shape=[3]), info("v", shape=[3])], outputs)
    node = helper.make_node(
        "Scan", ["S", "x"], ["T", "Y"], body=body, num_scan_inputs=1,
        scan_input_axes=[axis], scan_output_axes=[axis],
    )  # fmt: skip
    start = np.arange(3, dtype=np.float32)
    found = program(node, np.zeros(shape, np.float32), {"S": start})
    assert np.array_equal(found["T"], start)
    assert (found["Y"].shape, found["Y"].dtype) == (shape, np.float32)
