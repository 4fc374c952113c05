"""The functions that ONNX's operators are made of, where the suite's cases do not reach."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.functions.determinant import det
from compiler.frontend.functions.fourier import fourier, real_inverse
from compiler.frontend.functions.pools import Windows, avg_pool, max_pool_places
from compiler.frontend.functions.positions import positions
from compiler.frontend.functions.resize import Along, Method, resize
from compiler.frontend.functions.sampling import Border, sample
from compiler.frontend.functions.steps import row
from compiler.frontend.functions.update import update_along, update_nd, update_rows
from compiler.frontend.launches import counting_launches
from compiler.frontend.realize import to_numpy
from compiler.ir import Op


@pytest.fixture
def value(device):
    """Makes values of that device."""
    return lambda array: Tensor(np.asarray(array), device=device).value


def test_positions_of_a_mask_are_those_of_numpy(value, random):
    for size in (1, 7, 300):
        mask = random.random(size) < 0.4
        assert np.array_equal(to_numpy(positions(value(mask))), np.flatnonzero(mask))


def test_a_mask_that_holds_nowhere_has_no_positions(value):
    assert to_numpy(positions(value(np.zeros(5, bool)))).shape == (0,)
    assert to_numpy(positions(value(np.zeros(0, bool)))).shape == (0,)


def test_the_last_of_equal_places_wins_and_negative_ones_count_from_the_end(value):
    x, new = np.zeros((3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    found = to_numpy(update_rows(value(x), value([1, -2, -1]), value(new)))
    assert np.array_equal(found, [[0, 0], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    ("op", "ufunc"),
    [(Op.ADD, np.add), (Op.MUL, np.multiply), (Op.MAX, np.maximum), (Op.MIN, np.minimum)],
)
def test_updates_of_one_place_are_combined(value, random, op, ufunc):
    x, new = random.integers(1, 9, 5), random.integers(1, 9, 12)
    places = random.integers(0, 5, 12)
    wanted = x.copy()
    ufunc.at(wanted, places, new)
    assert np.array_equal(to_numpy(update_rows(value(x), value(places), value(new), op)), wanted)


def test_updates_along_an_axis_leave_the_rest(value, random):
    x, new = random.random((3, 4)), random.random((2, 2))
    places = np.array([[0, 3], [1, 2]])
    wanted = x.copy()
    for i, j in np.ndindex(2, 2):
        wanted[i, places[i, j]] = new[i, j]
    assert np.array_equal(
        to_numpy(update_along(value(x), value(places), value(new), 1, None)), wanted
    )


def test_places_of_several_axes_are_updated(value, random):
    x, new = random.random((3, 4, 2)), random.random((2, 2))
    places = np.array([[0, -1], [2, 1]])
    wanted = x.copy()
    wanted[0, 3], wanted[2, 1] = new
    assert np.array_equal(to_numpy(update_nd(value(x), value(places), value(new), None)), wanted)


@pytest.mark.parametrize("length", [6, 9, 12])
def test_a_transform_is_cut_or_padded_to_its_length(value, random, length):
    x = random.random((2, 9)) + 1j * random.random((2, 9))
    parts = (value(x.real), value(x.imag))
    for inverse, transform in ((False, np.fft.fft), (True, np.fft.ifft)):
        real, imaginary = [to_numpy(part) for part in fourier(parts, length, inverse=inverse)]
        np.testing.assert_allclose(real + 1j * imaginary, transform(x, length), atol=1e-12)


@pytest.mark.parametrize("length", [8, 9])
def test_a_real_signal_comes_back_from_half_of_its_transform(value, random, length):
    x = random.random(length)
    half = np.fft.rfft(x)
    found = to_numpy(real_inverse((value(half.real), value(half.imag)), length))
    np.testing.assert_allclose(found, x, atol=1e-12)


def test_determinants_with_zeros_on_the_diagonal(value, random):
    x = random.random((4, 3, 3))
    x[0, 0, 0] = x[1, 1, 1] = 0.0
    x[2] = 1.0  # singular
    np.testing.assert_allclose(to_numpy(det(value(x))), np.linalg.det(x), atol=1e-12)


def test_whole_factors_of_the_nearest_pixel_are_repetitions(value, random):
    x = random.random((1, 2, 3)).astype(np.float32)
    changes = [Along(1, 4, 2.0), Along(2, 9, 3.0)]
    found = to_numpy(resize(value(x), changes, Method()))
    assert np.array_equal(found, x.repeat(2, 1).repeat(3, 2))


def test_a_line_stays_a_line_when_it_is_stretched(value):
    x = np.arange(5, dtype=np.float32)
    for mode, border in (("linear", 0), ("cubic", 2)):  # a cubic bends where the ends repeat
        method = Method(mode, "align_corners")
        found = to_numpy(resize(value(x), [Along(0, 9, 9 / 5)], method))
        inner = slice(border, 9 - border)
        np.testing.assert_allclose(found[inner], (np.arange(9) / 2)[inner], atol=1e-6)


def test_pixels_between_pixels_are_weighed_and_zeros_lie_outside(value):
    image = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    rows, columns = np.float32([[0.5, 1.0, 5.0]]), np.float32([[0.5, 2.0, 0.0]])
    batch = np.zeros((1, 3), np.int64)
    at = (value(rows), value(columns))
    found = to_numpy(sample(value(image), value(batch), at, "linear", Border()))
    assert np.array_equal(found[0, :, 0], [2.0, 5.0, 0.0])


def test_places_of_a_pool_count_in_the_whole_array(value):
    x = np.array([[[1, 3, 2, 0]], [[0, 0, 5, 4]]], np.float32)
    at = Windows((2,), (2,), ((0, 0),), (1,))
    found = to_numpy(max_pool_places(value(x), at, columns_first=False))
    assert np.array_equal(found, [[[1, 2]], [[4, 6]]])


def test_the_place_of_a_nan_in_a_pool_is_that_of_the_first(value):
    x = np.array([[[1, np.nan, np.nan, 0]]], np.float32)
    at = Windows((4,), (4,), ((0, 0),), (1,))
    assert to_numpy(max_pool_places(value(x), at, columns_first=False)).item() == 1


def test_padding_that_counts_makes_an_average_smaller(value):
    x = np.full((1, 1, 2), 6.0, np.float32)
    at = Windows((2,), (1,), ((1, 1),), (1,))
    counted = to_numpy(avg_pool(value(x), at, ((1, 1),)))
    alone = to_numpy(avg_pool(value(x), at, ((0, 0),)))
    assert np.array_equal(counted, [[[3, 6, 3]]])
    assert np.array_equal(alone, [[[6, 6, 6]]])


def test_rows_of_a_long_axis_share_one_kernel(value):
    x = value(np.arange(40.0).reshape(20, 2))
    with counting_launches() as launches:
        rows = [to_numpy(row(x, 0, place)) for place in (0, 7, 19)]
    assert launches.count == 3
    assert np.array_equal(rows, [[0, 1], [14, 15], [38, 39]])
