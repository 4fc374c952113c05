"""Dimensions of ONNX models as variables: shapes that models compute, real models, the command."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from compiler import Variable
from compiler.errors import ModelError, ShapeError
from compiler.frontend.onnx import default_feed, evaluate_reference, from_proto, load, run
from compiler.frontend.onnx.command import relative_error
from compiler.onnx import main
from tests.frontend.symbolic_cases import compiles

MODELS = Path(__file__).parents[2] / ".models"
BATCH = {"batch": Variable("batch", 1, 64)}
NODES = {
    "gather and concat": """
        shape = Shape(x); n = Gather(shape, zero); one = Unsqueeze(n, axis0)
        wanted = Concat(one, minus); y = Reshape(x, wanted)""",
    "narrow integers": """
        shape = Shape(x); short = Cast:int32(shape); n = Slice(short, axis0, axis1)
        long = Cast:int64(n); wanted = Concat(long, minus); y = Reshape(x, wanted)""",
    "slice and product": """
        shape = Shape(x); tail = Slice(shape, axis0, ends); count = ReduceProd(tail)
        y = Reshape(x, count)""",
    "size and division": """
        all = Size(x); rows = Div(all, four); column = Unsqueeze(rows, axis0)
        wanted = Concat(minus, column); y = Reshape(x, wanted)""",
    "expand where minus one": """
        shape = Shape(x); is_open = Equal(shape, minus); wanted = Where(is_open, ones, shape)
        row = ReduceMax(x); y = Expand(row, wanted)""",
    "constant of shape": """
        shape = Shape(x); zeros = ConstantOfShape(shape); y = Add(x, zeros)""",
    "range": """
        shape = Shape(x); n = Gather(shape, zero); numbers = Range(zero, n, unit)
        column = Unsqueeze(numbers, axis1); wide = Cast(column); y = Add(x, wide)""",
    "computed from a size": """
        shape = Shape(x); n = Gather(shape, zero); wide = Cast(n); y = Div(x, wide)""",
    "greatest and least": """
        shape = Shape(x); some = Min(shape, ones); more = Max(shape, some); less = Sub(more, ones)
        again = Add(less, ones); same = Mul(again, ones); y = Reshape(x, same)""",
}
ATTRIBUTES = {
    "Concat": {"axis": 0},
    "Cast": {"to": TensorProto.FLOAT},
    "Cast:int32": {"to": TensorProto.INT32},
    "Cast:int64": {"to": TensorProto.INT64},
    "ReduceProd": {"keepdims": 1},
    "ConstantOfShape": {"value": numpy_helper.from_array(np.ones(1, np.float32))},
}
CONSTANTS = {
    "zero": np.int64(0), "unit": np.int64(1), "four": np.int64(4), "axis0": [0], "axis1": [1],
    "minus": [-1], "ends": [2**62], "ones": [1, 1],
}  # fmt: skip


def model(text):
    """Lines such as `y = Add(a, b)`, separated by ; or newlines, of x (batch, 12)."""
    nodes = []
    for line in text.replace("\n", ";").split(";"):
        if line.strip():
            output, call = line.strip().split(" = ")
            op, inputs = call.rstrip(")").split("(")
            attributes = ATTRIBUTES.get(op, {})
            op = op.partition(":")[0]
            nodes.append(helper.make_node(op, inputs.split(", "), [output], **attributes))
    constants = [
        numpy_helper.from_array(np.asarray(value, np.int64), name)
        for name, value in CONSTANTS.items()
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 12])],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def feed(n):
    return {"x": np.arange(n * 12, dtype=np.float32).reshape(n, 12)}


@pytest.mark.parametrize("name", NODES)
def test_shapes_that_a_model_computes_stay_symbolic(name):
    small = from_proto(model(NODES[name]))

    def outputs(n):
        return run(small, feed(n), "reference", variables=BATCH)["y"]

    outputs(7)
    found = {}
    assert compiles(lambda: found.update({n: outputs(n) for n in (1, 64, 8)})) == 0
    for n, mine in found.items():
        assert np.array_equal(mine, evaluate_reference(small, feed(n))["y"])


def test_a_size_outside_the_range_is_refused():
    with pytest.raises(ModelError, match="input x, dimension batch: variable batch from 1 to 64"):
        run(from_proto(model("y = Neg(x)")), feed(65), "reference", variables=BATCH)


def test_a_dimension_that_is_none_is_refused():
    with pytest.raises(ModelError, match="dimension rows: the model has batch"):
        run(
            from_proto(model("y = Neg(x)")),
            feed(2),
            "reference",
            variables={"rows": Variable("rows", 1, 2)},
        )


def test_a_batch_that_two_inputs_disagree_on_is_refused():
    proto = model("y = Add(x, z)")
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 12]))
    fed = {"x": feed(2)["x"], "z": feed(3)["x"]}
    with pytest.raises(ShapeError, match="batch from 1 to 64: is bound to 2 and to 3"):
        run(from_proto(proto), fed, "reference", variables=BATCH)


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    """The file of a small model."""
    file = tmp_path / "small.onnx"
    onnx.save(model(NODES["computed from a size"]), str(file))
    return file


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_a_range_is_compiled_once_and_run_at_three_sizes(path):
    code, printed = invoke(path, "--target", "llvm", "--dim", "batch=1..9", "--compare")
    first, *lines = printed.splitlines()
    assert (code, first) == (0, "batch = 1: 1 kernels compiled")
    assert lines == [
        "y float32[1, 12] max|a-b|/max|b| 0",
        "batch = 5: no kernels compiled",
        "y float32[5, 12] max|a-b|/max|b| 0",
        "batch = 9: no kernels compiled",
        "y float32[9, 12] max|a-b|/max|b| 0",
    ]


def test_a_fed_array_says_which_size_of_the_range_it_is(path, tmp_path):
    np.savez(tmp_path / "feed.npz", **feed(4))
    arguments = ("--target", "reference", "--dim", "batch=1..9", "--feed", tmp_path / "feed.npz")
    code, printed = invoke(path, *arguments, "--save", tmp_path / "out.npz")
    assert code == 0
    assert "batch = 4" in printed
    assert np.load(tmp_path / "out.npz")["y"].shape == (4, 12)


def test_a_fed_array_outside_the_range_is_refused(path, tmp_path):
    np.savez(tmp_path / "feed.npz", **feed(10))
    arguments = ("--target", "reference", "--dim", "batch=1..9", "--feed", tmp_path / "feed.npz")
    code, printed = invoke(path, *arguments)
    assert code == 3
    assert "variable batch from 1 to 9: cannot be bound to 10" in printed


def test_outputs_of_several_sizes_have_no_one_file(path, tmp_path):
    arguments = ("--dim", "batch=1..9", "--save", tmp_path / "out.npz")
    code, printed = invoke(path, *arguments)
    assert code == 3
    assert "3 sizes are run" in printed


@pytest.mark.parametrize("size", ["1...9", "..9", "9..1", "a..b"])
def test_what_is_no_range_is_a_wrong_command_line(path, size):
    assert invoke(path, "--dim", f"batch={size}")[0] == 2


# --- real models ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "dim", "others", "sizes"),
    [
        ("speechmos/dnsmos_models/model_v8.onnx", "N", {}, (1, 2)),
        ("silero_vad/data/silero_vad_op18_ifless.onnx", "batch", {"sequence": 576}, (2, 1, 3, 8)),
        ("speechmos/plcmos_models/plcmos_v2.onnx", "batch_size", {"frames": 40}, (2, 3)),
    ],
    ids=["model_v8", "silero_vad", "plcmos"],
)
def test_real_models_are_compiled_once_for_every_batch(path, dim, others, sizes):
    if not (MODELS / path).is_file():
        pytest.skip("the models are fetched by `make setup`")
    real = load(MODELS / path)

    def errors(n):
        fed = default_feed(real, {dim: n, **others})
        if "sr" in fed:
            fed["sr"] = np.full_like(fed["sr"], 16000)
        found = run(real, fed, "llvm", variables={dim: Variable("batch", 1, 8)})
        wanted = evaluate_reference(real, fed)
        return [relative_error(found[name], wanted[name]) for name in wanted]

    first, *rest = sizes
    seen = errors(first)
    assert compiles(lambda: seen.extend([x for n in rest for x in errors(n)])) == 0
    assert max(seen) < 1e-4
