"""Operators as users write them by hand for old and new opsets, held against ONNX's evaluator.

Where that evaluator is known to be wrong (see each test), NumPy says what is right.
"""

import numpy as np
import pytest

from compiler.frontend.onnx import evaluate_reference, run
from tests.frontend.test_onnx_operators import BOOLS, IMAGE, INTS, F, ints, node

SMALL = IMAGE[:1, :2, :5, :6].copy()
WEIGHTS = np.cos(np.arange(2 * 3 * 3 * 3, dtype=np.float32)).reshape(2, 3, 3, 3)
GRID = (np.sin(np.arange(24, dtype=np.float32)) * 1.3).reshape(1, 4, 3, 2)
HEADS = np.sin(np.arange(2 * 3 * 4 * 8, dtype=np.float32)).reshape(2, 3, 4, 8)
NONE = np.zeros(0, np.float32)


def scales(*numbers):
    return np.array(numbers, np.float32)


def scalar(number, dtype=np.float32):
    return np.array(number, dtype)


MODELS = {
    "Pad by attributes, 9": node("Pad", F, pads=[0, 1, 2, 1, 0, 1], mode="edge", opset=9),
    "Pad along axes, 18": node("Pad", F, ints(1, 2, 0, 1), None, ints(-1, 0)),
    "Pad that begins anew, 19": node("Pad", F, ints(0, 1, 2, 1, 0, 1), mode="wrap", opset=19),
    "Slice far beyond the ends, 10": node(
        "Slice", F, ints(0, -1), ints(2**31, -(2**40)), ints(1, -1), ints(2, -2), opset=10
    ),
    "Clip with the least above the greatest, 12": node(
        "Clip", F, scalar(0.5), scalar(-0.5), opset=12
    ),
    "Clip of integers, 13": node(
        "Clip", INTS, scalar(-2, np.int32), scalar(3, np.int32), opset=13
    ),
    "Hardmax, 13": node("Hardmax", F, opset=13),
    "TopK by an attribute, 7": node("TopK", F, k=2, axis=1, outputs=2, opset=7),
    "TopK of equal elements, 11": node("TopK", INTS % 3, ints(3), outputs=2, opset=11),
    "NonZero of bools, 9": node("NonZero", BOOLS, opset=9),
    "GatherND in batches, 12": node(
        "GatherND", F, ints(1, 0).reshape(2, 1), batch_dims=1, opset=12
    ),
    "ScatterND that adds at one place, 16": node(
        "ScatterND", F, ints(0, 1, 0, 1).reshape(2, 2), F[:, 0], reduction="add", opset=16
    ),
    "ScatterElements with the least, 18": node(
        "ScatterElements", F, ints(0, 2, 0, 0).reshape(2, 2, 1), F[:, :2, :1], axis=1,
        reduction="min",
    ),
    "Einsum with an ellipsis, 12": node("Einsum", F, F, equation="...ij,...kj->...ik", opset=12),
    "ConvTranspose of a given size, 11": node(
        "ConvTranspose", SMALL, WEIGHTS, strides=[3, 2], output_shape=[16, 13], opset=11
    ),
    "AveragePool with a rest, 11": node(
        "AveragePool", SMALL, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, opset=11
    ),
    "Resize by the size, 11": node(
        "Resize", SMALL, NONE, NONE, ints(1, 2, 7, 4), mode="cubic", opset=11
    ),
    "Resize that keeps its form, 18": node(
        "Resize", SMALL, None, None, ints(8, 8), axes=[2, 3], mode="linear",
        keep_aspect_ratio_policy="not_larger",
    ),
    "Resize about the middle, 19": node(
        "Resize", SMALL, None, scales(1, 1, 1.6, 0.7), mode="linear", opset=19,
        coordinate_transformation_mode="half_pixel_symmetric",
    ),
    "GroupNormalization, 21": node(
        "GroupNormalization", IMAGE, F[0, 0], F[0, 1], num_groups=2, opset=21
    ),
    "RMSNormalization, 23": node("RMSNormalization", F, F[0, 0], opset=23),
    "Attention that looks back alone, 23": node(
        "Attention", HEADS, HEADS, HEADS, is_causal=1, opset=23
    ),
    **{
        f"GridSample {mode} {padding} {corners}, 20": node(
            "GridSample", SMALL, GRID, mode=mode, padding_mode=padding, align_corners=corners,
            opset=20,
        )
        for mode in ("linear", "nearest", "cubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (0, 1)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_the_evaluator_says_the_same(name):
    model, feed = MODELS[name]
    wanted = evaluate_reference(model, feed)
    for output, found in run(model, feed, "reference").items():
        theirs = np.asarray(wanted[output])
        assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5)


def result(op, *inputs, **attributes):
    model, feed = node(op, *inputs, **attributes)
    return run(model, feed, "reference")["y0"]


@pytest.mark.parametrize(("number", "count"), [(3.0, 1), (0.0, 0)])
def test_one_number_has_no_axis_for_its_place(number, count):  # NumPy refuses it, ONNX does not
    found = result("NonZero", scalar(number), opset=13)
    assert (found.shape, found.dtype) == ((0, count), np.int64)


def test_before_opset_9_numbers_of_a_normalization_may_be_those_of_each_element():
    scale, bias, mean, var = [abs(F[0]) + i for i in range(1, 5)]
    found = result("BatchNormalization", F, scale, bias, mean, var, spatial=0, epsilon=0.0, opset=7)
    np.testing.assert_allclose(found, scale * (F - mean) / np.sqrt(var) + bias, rtol=1e-4)


def test_upsample_takes_its_scales_from_an_attribute():  # the evaluator has no opset 7 of it
    found = result("Upsample", SMALL, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest", opset=7)
    assert np.array_equal(found, SMALL.repeat(2, 2).repeat(3, 3))


def test_scatter_is_the_first_name_of_scatter_elements():  # which the evaluator has forgotten
    rows, updates = ints(0, 2, 1, -1).reshape(1, 1, 4), -F[:1, :1]
    wanted = F.copy()
    np.put_along_axis(wanted[:1], rows % 3, updates, 1)
    assert np.array_equal(result("Scatter", F, rows, updates, axis=1, opset=9), wanted)


def test_norms_of_negative_numbers_are_positive():  # the evaluator adds them up with their sign
    found = result("LpNormalization", F, axis=1, p=1, opset=22)
    np.testing.assert_allclose(found, F / abs(F).sum(1, keepdims=True), rtol=1e-6)


def test_responses_are_those_of_all_channels_around():  # the evaluator stops at the batch's size
    square = np.pad(SMALL**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    around = square[:, :-2] + square[:, 1:-1] + square[:, 2:]
    wanted = SMALL / (2.0 + 0.3 / 3 * around) ** 0.5
    found = result("LRN", SMALL, size=3, alpha=0.3, beta=0.5, bias=2.0, opset=13)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
