"""Published models on both backends, and the example that captures their kernels."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from compiler import open_device
from compiler.errors import DeviceError
from compiler.onnx import main
from examples.models import MODELS, RECIPES, matching

REASON = "the models are fetched by `make setup`"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "opencl"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.path)
def test_a_published_model_equals_the_reference_evaluator(recipe, target):
    if not (MODELS / recipe.path).is_file():
        pytest.skip(REASON)
    try:
        open_device(target)
    except DeviceError as error:
        pytest.skip(str(error))
    result = CliRunner().invoke(main, [*recipe.arguments(target), "--compare"])
    assert result.exit_code == 0, result.output


def test_every_model_of_the_packages_has_a_recipe():
    if not MODELS.is_dir():
        pytest.skip(REASON)
    there = {str(path.relative_to(MODELS)) for path in MODELS.rglob("*.onnx")}
    assert there <= {recipe.path for recipe in RECIPES}


def example(*arguments):
    command = [sys.executable, "-m", "examples.models", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_commands_are_listed():
    if not list(matching(["openvino"])):
        pytest.skip(REASON)
    found = example("openvino", "--list")
    assert found.returncode == 0
    assert found.stdout.count("python -m compiler.onnx") == 1


def test_what_matches_nothing_is_said():
    assert example("no such model").returncode == 3


@pytest.mark.slow
def test_the_kernels_of_a_model_are_captured(tmp_path):
    if not list(matching(["openvino"])):
        pytest.skip(REASON)
    found = example("openvino", "--corpus", tmp_path / "kernels")
    assert found.returncode == 0, found.stderr
    assert "new records" in found.stdout + found.stderr
