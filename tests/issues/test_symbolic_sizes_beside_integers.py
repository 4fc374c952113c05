"""Found by models with an open batch: `x + x.shape[0]` of integers was refused.

Whether int64 holds a size was asked in the arithmetic of sizes, which has no room for the limits of
int64. Likewise the body of an ONNX operator that is made for its inputs' types was asked for at a
symbolic size, which ONNX has no words for.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper

from compiler import Tensor, Variable
from compiler.errors import NumberError
from compiler.frontend.onnx import evaluate_reference, from_proto, run
from tests.frontend.symbolic_cases import compiles

BATCH = Variable("batch", 1, 40)
PROGRAMS = {
    "sum": lambda x: x + x.shape[0],
    "counted from the end": lambda x: x.shape[0] - 1 - x.argmax(0),
    "product": lambda x: x * (x.shape[0] - 1),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_symbolic_size_stands_beside_any_dtype(name, dtype):
    program = PROGRAMS[name]

    def check(n):
        array = (np.arange(3 * n).reshape(n, 3) % 2).astype(dtype)
        found = program(Tensor(array, device="llvm").bind(BATCH)).numpy()
        wanted = program(array)
        assert found.dtype == wanted.dtype
        assert np.array_equal(found, wanted)

    check(4)
    assert compiles(lambda: [check(n) for n in (1, 7, 40)]) == 0


def test_a_symbolic_size_that_a_dtype_cannot_hold_is_refused():
    x = Tensor(np.ones((300, 1), np.int8), device="reference").bind(Variable("n", 200, 400))
    with pytest.raises(NumberError, match="int8"):
        x + x.shape[0]


def model(op, shape, opset, **attributes):
    graph = helper.make_graph(
        [helper.make_node(op, ["x"] * (3 if op == "Attention" else 1), ["y"], **attributes)],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
    )
    return from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


MODELS = {
    "the last greatest": (model("ArgMax", (3,), 13, axis=0, select_last_index=1), (3,)),
    "attention": (model("Attention", (2, 5, 4), 23, is_causal=1), (2, 5, 4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_operators_of_an_open_batch_are_compiled_once(name):
    program, shape = MODELS[name]

    def check(n):
        x = np.round(np.random.default_rng(n).standard_normal((n, *shape))).astype(np.float32)
        found = run(program, {"x": x}, "llvm", variables={"batch": BATCH})["y"]
        wanted = evaluate_reference(program, {"x": x})["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    check(3)
    assert compiles(lambda: [check(n) for n in (1, 8)]) == 0
