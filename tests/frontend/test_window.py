"""Convolutions and pools equal a direct evaluation of their definition."""

import numpy as np
import pytest

from compiler.errors import ShapeError


def direct_conv(x, weight, stride, padding, dilation, groups):
    """Every output by its formula."""
    dims = weight.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((x.shape[0], weight.shape[0], *places))
    for o in range(weight.shape[0]):
        first = o // (weight.shape[0] // groups) * weight.shape[1]
        channels = x[:, first : first + weight.shape[1]]
        for place in np.ndindex(*places):
            spans = [
                slice(p * s, p * s + r, d)
                for p, s, r, d in zip(place, stride, reach, dilation, strict=True)
            ]
            seen = channels[(slice(None), slice(None), *spans)]
            out[(slice(None), o, *place)] = (seen * weight[o]).sum(tuple(range(1, dims + 2)))
    return out


CONVS = [
    ((2, 4, 7, 9), (6, 2, 3, 2), (2, 1), ((1, 0), (2, 1)), (1, 3), 2),
    ((2, 4, 7, 9), (4, 1, 3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), 4),
    ((1, 4, 1, 1), (16, 2, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 2),
    ((2, 3, 11), (5, 3, 4), (3,), ((2, 1),), (2,), 1),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 3), (1, 2, 1), ((0, 1), (1, 0), (1, 1)), (1, 1, 2), 1),
]


@pytest.mark.parametrize(("shape", "taps", "stride", "padding", "dilation", "groups"), CONVS)
def test_convolutions_equal_their_formula(
    tensor, check, random, shape, taps, stride, padding, dilation, groups
):
    x = random.integers(-3, 4, shape).astype(np.float32)
    weight = random.integers(-3, 4, taps).astype(np.float32)
    wanted = direct_conv(x, weight, stride, padding, dilation, groups).astype(np.float32)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    check(tensor(x).conv(tensor(weight), **options), wanted)
    bias = np.arange(taps[0], dtype=np.float32)
    column = bias.reshape(-1, *([1] * len(stride)))
    check(tensor(x).conv(tensor(weight), tensor(bias), **options), wanted + column)


def windows(x, kernel, stride, dilation=(1, 1)):
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def test_max_pools_of_negative_integers_never_pick_the_padding(tensor, check, random):
    x = random.integers(-99, -9, (1, 2, 5, 6)).astype(np.int32)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-(2**31))
    check(tensor(x).max_pool(2, padding=1), windows(padded, (2, 2), (2, 2)).max((4, 5)))


def test_pools_may_overlap_and_be_dilated(tensor, check, random):
    x = random.integers(-9, 9, (2, 2, 8, 8)).astype(np.float32)
    seen = windows(x, (3, 3), (2, 2), (2, 2))
    check(tensor(x).max_pool(3, stride=2, dilation=2), seen.max((4, 5)))
    check(tensor(x).avg_pool(3, stride=2, dilation=2), seen.mean((4, 5)), rtol=1e-6)


def test_average_pools_count_padding_or_not(tensor, check):
    x = np.ones((1, 1, 4, 4), np.float32)
    corner = np.float32(4 / 9)
    assert tensor(x).avg_pool(3, stride=1, padding=1).numpy()[0, 0, 0, 0] == corner
    check(tensor(x).avg_pool(3, stride=1, padding=1, count_include_pad=False), x)


@pytest.mark.parametrize(
    ("x", "weight", "options", "message"),
    [
        ((1, 3, 5, 5), (2, 4, 3, 3), {}, "channels do not fit"),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}, "channels do not fit"),
        ((3, 5, 5), (2, 3, 3, 3), {}, "needs"),
        ((1, 3, 2, 2), (2, 3, 3, 3), {}, "larger than padded"),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"stride": 0}, "must be positive"),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"stride": (1, 1, 1)}, "3 numbers for 2 axes"),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"padding": (1, 1, 1)}, "padding"),
    ],
)
def test_convolutions_that_do_not_fit_are_value_errors_that_say_why(
    tensor, x, weight, options, message
):
    with pytest.raises(ShapeError, match=message):
        tensor(np.zeros(x)).conv(tensor(np.zeros(weight)), **options)


def _spread(x, weight, stride, dilation, groups):
    """The transposed convolution along one axis, product by product."""
    (batch, channels, size), (_, outputs, taps) = x.shape, weight.shape
    shape = (batch, outputs * groups, (size - 1) * stride + (taps - 1) * dilation + 1)
    result = np.zeros(shape)
    for c in range(channels):
        group = c * groups // channels
        for k in range(taps):
            for out in range(outputs):
                places = np.arange(size) * stride + k * dilation
                result[:, group * outputs + out, places] += x[:, c] * weight[c, out, k]
    return result


@pytest.mark.parametrize(("stride", "dilation", "groups"), [(1, 1, 1), (3, 1, 2), (2, 2, 1)])
def test_transposed_convolution_spreads_every_product(
    tensor, check, random, stride, dilation, groups
):
    x, weight = random.normal(size=(2, 4, 5)), random.normal(size=(4, 3, 3))
    options = {"stride": stride, "dilation": dilation, "groups": groups}
    whole = _spread(x, weight, stride, dilation, groups)
    check(tensor(x).conv_transpose(tensor(weight), **options), whole, rtol=1e-12, atol=1e-12)
    cut = tensor(x).conv_transpose(tensor(weight), padding=1, **options)
    check(cut, whole[..., 1:-1], rtol=1e-12, atol=1e-12)


def test_output_padding_adds_what_no_product_reaches(tensor, check, random):
    x, weight = random.normal(size=(1, 1, 4)), random.normal(size=(1, 1, 2))
    found = tensor(x).conv_transpose(tensor(weight), stride=2, output_padding=1)
    whole = np.pad(_spread(x, weight, 2, 1, 1), ((0, 0), (0, 0), (0, 1)))
    check(found, whole, rtol=1e-12)
