"""Resizing of the last axes, held against NumPy's interpolation and ONNX's evaluator."""

import numpy as np
import pytest

from compiler.frontend.onnx import evaluate_reference
from tests.frontend.test_onnx_operators import ints, node


def test_a_line_between_its_ends_is_numpys(tensor, check):
    x = np.array([1.0, 4.0, 2.0, 8.0])
    wanted = np.interp(np.linspace(0, 3, 7), np.arange(4), x)
    check(tensor(x).interpolate(7, align_corners=True), wanted, rtol=1e-12)


def test_nearest_elements_of_a_whole_factor_are_repeated(tensor, check):
    x = np.arange(6).reshape(2, 3)
    check(tensor(x).interpolate((4, 6), "nearest"), x.repeat(2, 0).repeat(2, 1))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(9, 5), (3, 4)], ids=["larger", "smaller"])
@pytest.mark.parametrize("antialias", [False, True])
def test_images_are_those_of_the_evaluator(tensor, check, random, mode, sizes, antialias):
    if antialias and mode == "nearest":
        pytest.skip("the nearest element is one element")
    x = random.random((1, 2, 6, 4)).astype("f4")
    model, feed = node("Resize", x, None, None, ints(*x.shape[:2], *sizes), mode=mode,
                       antialias=int(antialias))  # fmt: skip
    wanted = evaluate_reference(model, feed)["y0"]
    check(tensor(x).interpolate(sizes, mode, antialias=antialias), wanted, rtol=1e-5, atol=1e-6)


def test_integers_are_rounded(tensor, check):
    x = np.array([0, 10, 11], np.uint8)
    check(tensor(x).interpolate(6), np.array([0, 2, 8, 10, 11, 11], np.uint8))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (0, 2), (2, -1)])
def test_sizes_that_do_not_fit_are_refused(tensor, sizes):
    with pytest.raises(ValueError, match=r"interpolate \(2, 3\) to|sizes"):
        tensor(np.ones((2, 3))).interpolate(sizes)


def test_an_unknown_mode_is_refused(tensor):
    with pytest.raises(ValueError, match="mode 'area': use one of nearest, linear, cubic"):
        tensor(np.ones((2, 3))).interpolate(2, "area")
