"""Models that are wrong, and feeds that do not fit: one line that names what it is about."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import Tensor
from compiler.errors import CompilerError, ModelError
from compiler.frontend.onnx import default_feed, from_proto, load, run

X = np.arange(6, dtype=np.float32).reshape(2, 3)
FLOAT, node = TensorProto.FLOAT, helper.make_node
WEIGHT = numpy_helper.from_array(X, "w")
PADS = numpy_helper.from_array(np.array([0, 0, 1, 1]), "p")
LONG = numpy_helper.from_array(np.ones(4, np.float32), "four")
COUNTS = numpy_helper.from_array(np.ones(3, np.int64), "counts")


def info(name, kind=FLOAT, shape=(2, 3)):
    return helper.make_tensor_value_info(name, kind, shape)


def proto(*nodes, inputs=(), outputs=(), constants=(), opset=18, functions=()):
    outputs = outputs or [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)]
    graph = helper.make_graph(list(nodes), "g", inputs or [info("x")], outputs, constants)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def function(*nodes):
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    return helper.make_function("mine", "f", ["a"], ["b"], nodes, imports)


CALL = node("f", ["x"], ["y"], domain="mine")
EXP = node("Exp", ["x"], ["y"])
FLAWS = {
    "a constant that is missing": (
        proto(node("Add", ["x", "w"], ["y"], name="sum")),
        "model: Add sum: input 1 is w, which nothing makes",
    ),
    "a cycle": (
        proto(node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])),
        "Add (makes a): input 1 is b, which it or a later node makes",
    ),
    "two inputs of one name": (
        proto(EXP, inputs=[info("x"), info("x")]),
        "two inputs are called x",
    ),
    "two constants of one name": (
        proto(node("Add", ["x", "w"], ["y"]), constants=[WEIGHT, WEIGHT]),
        "graph g: has two initializers of one name",
    ),
    "two nodes that make one name": (
        proto(EXP, node("Neg", ["x"], ["y"])),
        "Neg (makes y): makes y, which Exp (makes y) makes already",
    ),
    "a node that makes an input": (
        proto(node("Exp", ["x"], ["x"]), node("Neg", ["x"], ["y"])),
        "makes x, which is an input",
    ),
    "an output that nothing makes": (proto(EXP, outputs=[info("z")]), "output z: nothing makes it"),
    "an output without a name": (proto(EXP, outputs=[info("")]), "output (without a name)"),
    "too few inputs": (proto(node("Add", ["x"], ["y"])), "input 1 (B) is missing"),
    "an input left out that has to be": (proto(node("Add", ["", "x"], ["y"])), "input 0 (A) is mi"),
    "too many inputs": (proto(node("Exp", ["x", "x"], ["y"])), "has 2 inputs, takes 1"),
    "too many outputs": (proto(node("Exp", ["x"], ["y", "z"])), "has 2 outputs, makes 1"),
    "an unknown attribute": (
        proto(node("Softmax", ["x"], ["y"], axes=1)),
        "Softmax (makes y): has no attribute axes in opset 18",
    ),
    "an attribute of another type": (
        proto(node("Softmax", ["x"], ["y"], axis="last")),
        "attribute axis is STRING, expected INT",
    ),
    "an attribute that is missing": (
        proto(node("Concat", ["x", "x"], ["y"])),
        "attribute axis is missing",
    ),
    "a word that means nothing": (
        proto(node("Pad", ["x", "p"], ["y"], mode="mirror"), constants=[PADS]),
        "attribute mode is 'mirror', expected one of constant, edge, reflect, wrap",
    ),
    "an attribute that is no text": (
        proto(node("Pad", ["x", "p"], ["y"], mode=b"\xff"), constants=[PADS]),
        "attribute mode: b'\\xff' is no text",
    ),
    "a dtype that ONNX has not": (
        proto(node("Cast", ["x"], ["y"], to=99)),
        "Cast (makes y): to type 99, which tensors do not have",
    ),
    "inputs of two dtypes": (
        proto(node("Add", ["x", "counts"], ["y"]), constants=[COUNTS]),
        "Add (makes y): input 1 is int64, but input 0 is float32",
    ),
    "an input of another dtype": (
        proto(node("Gather", ["x", "x"], ["y"])),
        "Gather (makes y): input 1 is float32, which it does not take in opset 18",
    ),
    "shapes that do not fit": (
        proto(node("Add", ["x", "four"], ["y"], name="sum"), constants=[LONG]),
        "Add sum: shapes (2, 3) and (4,): do not broadcast",
    ),
    "too many axes": (
        proto(
            node("Resize", ["wide", "", "scales"], ["y"]),
            inputs=[info("x"), info("wide", shape=(2, 3, 1, 1, 1))],
            constants=[numpy_helper.from_array(np.ones(4, np.float32), "scales")],
        ),
        "Resize (makes y): cannot be computed of float32[2, 3, 1, 1, 1], -, float32[4], ",
    ),
    "an axis that is not there": (
        proto(node("Softmax", ["x"], ["y"], axis=7)),
        "Softmax (makes y): axis 7: the array has 2 dimensions",
    ),
    "a function that calls itself": (
        proto(CALL, functions=[function(node("f", ["a"], ["b"], domain="mine"))]),
        "functions call themselves: f",
    ),
    "a function of a name that is nowhere": (
        proto(CALL, functions=[function(node("Exp", ["q"], ["b"]))]),
        "function f: Exp (makes b): input 0 is q, which nothing makes",
    ),
    "too many inputs of a function": (
        proto(
            node("f", ["x", "x"], ["y"], domain="mine"), functions=[function(node("Exp", "a", "b"))]
        ),
        "mine.f (makes y): has 2 inputs, takes 1",
    ),
}


def message(action):
    with pytest.raises(CompilerError) as found:
        action()
    text = str(found.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_of_a_model_is_one_line(name):
    model, wanted = FLAWS[name]
    feed = {"x": X}
    if len(model.graph.input) > 1:
        feed["wide"] = X.reshape(2, 3, 1, 1, 1)
    assert wanted in message(lambda: run(from_proto(model), feed, "reference"))


def test_errors_of_shapes_keep_numpys_kind():
    model = from_proto(FLAWS["shapes that do not fit"][0])
    with pytest.raises(ValueError, match="do not broadcast"):
        run(model, {"x": X}, "reference")


def test_missing_operators_of_all_domains_are_listed_once():
    nodes = [
        node("Foo", ["x"], ["a"]),
        node("Foo", ["a"], ["b"]),
        node("Bar", ["b"], ["c"], domain="com.microsoft"),
        node("Foo", ["c"], ["y"], domain="mine"),
    ]
    wanted = "unsupported operators: Foo x2, com.microsoft.Bar x1, mine.Foo x1"
    assert message(lambda: run(from_proto(proto(*nodes)), {"x": X}, "reference")) == wanted


HELD = (
    *("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
    *("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"),
)
FOREIGN = [
    name
    for name in TensorProto.DataType.keys()  # noqa: SIM118  # no mapping
    if name not in ("UNDEFINED", *HELD)
]


@pytest.mark.parametrize("name", FOREIGN)
def test_inputs_that_no_tensor_holds_are_named_with_their_type(name):
    kind = TensorProto.DataType.Value(name)
    given = [info("x"), info("other", kind), info("more", kind)]
    model = from_proto(proto(EXP, inputs=given))
    wanted = f"unsupported inputs: other of {name}, more of {name}, which tensors do not have"
    assert message(lambda: default_feed(model)) == wanted
    assert message(lambda: run(model, {"x": X}, "reference")) == wanted


@pytest.mark.parametrize("name", HELD)
def test_inputs_that_tensors_hold_are_fed(name):
    given = [info("x"), info("other", TensorProto.DataType.Value(name))]
    assert set(default_feed(from_proto(proto(EXP, inputs=given)))) == {"x", "other"}


def test_missing_operators_stand_before_inputs_of_foreign_types():
    given = [info("x", TensorProto.STRING)]
    model = from_proto(proto(node("StringNormalizer", ["x"], ["y"]), inputs=given))
    wanted = "unsupported operators: StringNormalizer x1; unsupported inputs: x of STRING, which"
    for call in (lambda: default_feed(model), lambda: run(model, {"x": X}, "reference")):
        assert message(call).startswith(wanted)


# --- files ----------------------------------------------------------------------------------------


def test_bytes_are_read_and_never_printed():
    data = proto(EXP).SerializeToString()
    np.testing.assert_allclose(run(load(data), {"x": X}, "reference")["y"], np.exp(X), rtol=1e-6)
    found = message(lambda: load(data[:-3] * 100))
    assert found.startswith(f"model of {(len(data) - 3) * 100} bytes: cannot be read, ")
    assert len(found) < 200


@pytest.mark.parametrize("source", [None, 7, proto(EXP), [b"x"]], ids=lambda x: type(x).__name__)
def test_what_is_neither_path_nor_bytes_is_named_by_its_type(source):
    found = message(lambda: load(source))
    assert f"not {type(source).__name__}" in found
    assert len(found) < 100


@pytest.mark.parametrize("name", ["m.onnx", "m.json", "m.textproto"])
@pytest.mark.parametrize("data", [b"", b"nothing {", b"\x89PNG\r\n\x1a\n", bytes(99)])
def test_a_file_that_is_no_model_is_one_line(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert message(lambda: load(tmp_path / name)).startswith(f"model {tmp_path / name}: ")


@pytest.fixture
def outside(tmp_path):
    """A model whose constant lies in a file of its own, and that file."""
    weight = numpy_helper.from_array(np.ones((3, 300), np.float32), "w")
    model = proto(node("MatMul", ["x", "w"], ["y"]), constants=[weight])
    path = tmp_path / "m.onnx"
    onnx.save(model, str(path), save_as_external_data=True, location="w.bin", size_threshold=9)
    return path, tmp_path / "w.bin"


def test_external_data_is_read(outside):
    assert run(load(outside[0]), {"x": X}, "reference")["y"].shape == (2, 300)


def test_external_data_that_is_short_or_missing_is_one_line(outside):
    path, data = outside
    data.write_bytes(data.read_bytes()[:40])
    assert "exceeds available data" in message(lambda: load(path))
    data.unlink()
    assert "w.bin" in message(lambda: load(path))
    inner = onnx.load(str(path), load_external_data=False)
    assert message(lambda: from_proto(inner)).startswith("initializer w: cannot be read, ")


# --- feeds ----------------------------------------------------------------------------------------

FEEDS = {
    "nothing": ({}, "input x: is not fed"),
    "a name that is none": ({"x": X, "z": X}, "feed z: the inputs are x"),
    "another dtype": ({"x": X.astype(float)}, "fed float64[2, 3], expected float32[2, 3]"),
    "another byte order": ({"x": X.astype(">f4")}, "fed >f4[2, 3], expected float32[2, 3]"),
    "another size": ({"x": X[:1]}, "fed float32[1, 3], expected float32[2, 3]"),
    "fewer axes": ({"x": X[0]}, "fed float32[3], expected float32[2, 3]"),
    "a list": ({"x": X.tolist()}, "input x: is a tensor, fed list"),
    "a number": ({"x": 3}, "input x: fed int, expected float32[2, 3]"),
    "a tensor": ({"x": Tensor(X, device="reference")}, "input x: fed Tensor, expected float32"),
}


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_that_does_not_fit_is_one_line(name):
    feed, wanted = FEEDS[name]
    assert wanted in message(lambda: run(from_proto(proto(EXP)), feed, "reference"))


def test_an_input_with_a_value_may_be_fed_another():
    inputs = [info("x"), info("w")]
    model = from_proto(proto(node("Add", ["x", "w"], ["y"]), inputs=inputs, constants=[WEIGHT]))
    assert [item.name for item in model.defaults] == ["w"]
    assert np.array_equal(run(model, {"x": X}, "reference")["y"], X + X)
    assert np.array_equal(run(model, {"x": X, "w": X * 9}, "reference")["y"], X * 10)


def test_old_models_list_their_weights_as_inputs_and_errors_only_count_them():
    inputs = [info("x"), info("w")]
    model = from_proto(proto(node("Add", ["x", "w"], ["y"]), inputs=inputs, constants=[WEIGHT]))
    found = message(lambda: run(model, {"x": X, "z": X}, "reference"))
    assert found == "feed z: the inputs are x and 1 with values"


def test_a_model_is_shown_without_its_weights():
    model = from_proto(proto(node("Add", ["x", "w"], ["y"]), constants=[WEIGHT]))
    assert repr(model) == "<Model of x to y, 1 nodes, opset 18>"
    assert len(repr(model.nodes)) < 200


def test_a_size_of_0_is_one_that_old_exporters_leave_open():
    model = from_proto(proto(EXP, inputs=[info("x", shape=(0, 3))]))
    assert run(model, {"x": X}, "reference")["y"].shape == (2, 3)


@pytest.mark.parametrize("kind", [TensorProto.COMPLEX64, TensorProto.STRING, TensorProto.INT4])
def test_a_constant_that_tensors_cannot_hold_is_named(kind):
    values = [b"a"] if kind == TensorProto.STRING else [1]
    weight = helper.make_tensor("w", kind, [1], values)
    model = from_proto(proto(node("Identity", ["w"], ["y"]), constants=[weight]))
    assert message(lambda: run(model, {"x": X}, "reference")).startswith("initializer w: ")


def test_a_model_that_is_wrong_is_a_model_error():
    with pytest.raises(ModelError):
        from_proto(FLAWS["a cycle"][0])
