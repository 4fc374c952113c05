"""python -m compiler.onnx: what it prints, what it exits with, and real models."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from compiler.errors import ModelError
from compiler.frontend.onnx import default_feed, from_proto, load, run
from compiler.frontend.onnx.command import relative_error
from compiler.onnx import main

MODELS = Path(__file__).parents[2] / ".models/silero_vad/data"


def small(*nodes, inputs=(("x", TensorProto.FLOAT, ["batch", 3]),), opset=18):
    graph = helper.make_graph(
        nodes or [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "small",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.fixture
def path(tmp_path):
    """The file of a small model."""
    file = tmp_path / "small.onnx"
    onnx.save(small(), str(file))
    return file


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_outputs_are_listed_with_dtype_and_shape(path):
    result = invoke(path, "--target", "reference", "--dim", "batch=5")
    assert (result.exit_code, result.output) == (0, "y float32[5, 3]\n")


def test_an_unbound_dimension_is_two(path):
    assert "y float32[2, 3]" in invoke(path, "--target", "reference").output


def test_what_is_not_supported_is_said_before_inputs_are_made_up(tmp_path):
    normalizer = helper.make_node("StringNormalizer", ["s"], ["y"])
    file = tmp_path / "text.onnx"
    onnx.save(small(normalizer, inputs=[("s", TensorProto.STRING, [1])]), str(file))
    result = invoke(file)
    assert result.exit_code == 3
    assert "unsupported operators: StringNormalizer x1; unsupported inputs: s of" in result.output


def test_compare_prints_the_error_of_every_output(path):
    result = invoke(path, "--target", "reference", "--compare")
    assert (result.exit_code, result.output) == (0, "y float32[2, 3] max|a-b|/max|b| 0\n")


def test_counts_are_those_of_the_model_and_its_kernels(path):
    result = invoke(path, "--target", "reference", "--count", "--dim", "batch=17")  # new kernels
    assert result.output.endswith("opset 18, 1 nodes, 1 kernels launched, 1 compiled\n")


def test_compare_exits_with_one_beyond_the_tolerance(path, monkeypatch):
    monkeypatch.setattr(
        "compiler.frontend.onnx.command.evaluate_reference",
        lambda model, feed: {"y": np.ones((2, 3), np.float32)},
    )
    assert invoke(path, "--target", "reference", "--compare").exit_code == 1


def test_a_feed_is_used_and_outputs_are_saved(path, tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez(tmp_path / "feed.npz", x=x)
    out = tmp_path / "out.npz"
    arguments = ("--target", "reference", "--feed", tmp_path / "feed.npz", "--save", out)
    assert invoke(path, *arguments).exit_code == 0
    assert np.array_equal(np.load(out)["y"], x)


def test_an_input_is_filled_with_a_value(path, tmp_path):
    out = tmp_path / "out.npz"
    arguments = ("--target", "reference", "--value", "x=2.5", "--save", out)
    assert invoke(path, *arguments).exit_code == 0
    assert np.array_equal(np.load(out)["y"], np.full((2, 3), 2.5))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--dim", "batch"], 2, "batch=4"),
        (["--dim", "other=4"], 3, "error: dimension other: the model has batch"),
        (["--value", "rate"], 2, "rate=16000"),
        (["--value", "rate=many"], 2, "rate=16000"),
        (["--value", "rate=1"], 3, "error: value rate: the inputs are x"),
        (["--target", "cuda"], 2, "cuda"),
        (["--dim", "batch=1..4", "--dim", "batch=3"], 2, "'batch' is given twice"),
    ],
)
def test_wrong_arguments_are_named(path, arguments, code, message):
    result = invoke(path, *arguments)
    assert result.exit_code == code
    assert message in result.output


def test_a_feed_that_is_no_archive_is_one_line(path, tmp_path):
    (tmp_path / "feed.npz").write_text("nothing")
    result = invoke(path, "--feed", tmp_path / "feed.npz")
    assert result.exit_code == 3
    assert result.output.startswith("error: feed ")


def test_a_feed_of_a_name_that_is_no_input_is_one_line(path, tmp_path):
    np.savez(tmp_path / "feed.npz", rate=np.ones(3))
    result = invoke(path, "--feed", tmp_path / "feed.npz")
    assert (result.exit_code, result.output) == (3, "error: feed rate: the inputs are x\n")


@pytest.mark.parametrize("number", ["2.5", "nan", "inf", "1e30", "-1"])
def test_a_setting_that_its_dtype_cannot_hold_is_one_line(tmp_path, number):
    setting = ("k", TensorProto.UINT8, [])
    model = small(helper.make_node("Identity", ["k"], ["y"]), inputs=[setting])
    onnx.save(model, str(tmp_path / "m.onnx"))
    result = invoke(tmp_path / "m.onnx", "--target", "reference", "--value", f"k={number}")
    assert result.exit_code == 3
    assert "uint8 does not hold it" in result.output


def test_a_place_that_cannot_be_written_is_one_line(path, tmp_path):
    result = invoke(path, "--target", "reference", "--save", tmp_path / "nowhere" / "out.npz")
    assert result.exit_code == 3
    assert "No such file or directory" in result.output


def test_help_does_without_the_compiler():
    script = "import sys, compiler.onnx; sys.exit('numpy' in sys.modules or 'onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_missing_file_is_a_usage_error(tmp_path):
    assert invoke(tmp_path / "nothing.onnx").exit_code == 2


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"\x08\x07"])
def test_a_file_that_is_no_model_is_one_line(tmp_path, content):
    file = tmp_path / "bad.onnx"
    file.write_bytes(content)
    result = invoke(file)
    assert result.exit_code == 3
    assert result.output.startswith("error: model ")
    assert result.output.count("\n") == 1


def test_unsupported_operators_are_listed_by_name_and_count():
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["a"]),
        helper.make_node("StringNormalizer", ["a"], ["b"]),
        helper.make_node("Mine", ["b"], ["y"], domain="com.example"),
    ]
    with pytest.raises(ModelError, match=r"StringNormalizer x2, com\.example\.Mine x1"):
        run(from_proto(small(*nodes)), {}, "reference")


def test_a_feed_that_does_not_fit_is_named():
    model = from_proto(small())
    with pytest.raises(ModelError, match=r"input x: fed float64\[3\], expected float32"):
        run(model, {"x": np.zeros(3)}, "reference")
    with pytest.raises(ModelError, match="input x: is not fed"):
        run(model, {}, "reference")


def test_default_feeds_are_the_same_every_time_and_in_range():
    inputs = [
        ("x", TensorProto.FLOAT, [64]),
        ("i", TensorProto.INT64, [64]),
        ("u", TensorProto.UINT8, [64]),
        ("b", TensorProto.BOOL, ["n"]),
    ]
    model = from_proto(small(helper.make_node("Identity", ["x"], ["y"]), inputs=inputs))
    first, second = default_feed(model), default_feed(model)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert [array.dtype.name for array in first.values()] == ["float32", "int64", "uint8", "bool"]
    assert set(first["i"]) == {0, 1}
    assert first["u"].max() > 100
    assert first["b"].shape == (2,)


@pytest.mark.parametrize(
    ("found", "wanted", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([np.nan, 2.0], [np.nan, 2.0], 0.0),
        ([1.0, 2.0], [np.nan, 2.0], np.inf),
        ([np.nan, 2.0], [1.0, 2.0], np.inf),
        ([0.0], [0.0], 0.0),
        ([1e-9], [0.0], np.inf),
        ([1.0], [1.0, 1.0], np.inf),
    ],
)
def test_the_error_is_relative_to_the_largest_element(found, wanted, error):
    assert relative_error(np.array(found), np.array(wanted)) == error


# --- real models ----------------------------------------------------------------------------------


@pytest.mark.skipif(not MODELS.is_dir(), reason="the models are fetched by `make setup`")
def test_a_real_model_equals_the_reference_evaluator():
    result = invoke(MODELS / "silero_vad_openvino_16k.onnx", "--compare")
    assert result.exit_code == 0, result.output


def test_a_model_is_read_once_and_its_data_kept(path):
    model = load(path)
    os.remove(path)
    assert model.inputs[0].shape == ("batch", 3)
    assert model.outputs == ("y",)
