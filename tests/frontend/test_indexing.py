"""x[...] and x[...] = y equal NumPy's for every kind of index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from compiler import Tensor
from compiler.errors import IndexingError

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7

INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:], np.s_[::-1], np.s_[:, 1], np.s_[..., 2], np.s_[None],
    np.s_[:, None, 1:3], np.s_[::2, ::-2, 1], np.s_[1, 2, 3], np.s_[5:2], np.s_[:, ::-1, 3:0:-2],
    np.s_[...], np.s_[()], np.s_[-100:100], np.s_[[0, 1, 1]], np.s_[:, [2, 0]],
    np.s_[[0, 1], :, [3, 2]], np.s_[[[0], [1]], [[1, 2]]], np.s_[0, :, [1, 2]],
    np.s_[:, [1, 2], [0, 3]], np.s_[:, 0, [1, 2]], np.s_[A > 0], np.s_[A[:, :, 0] > 0],
    np.s_[:, np.array([True, False, True])], np.s_[[]], np.s_[np.array(1)], np.s_[-2:, [-1, 0]],
    np.s_[None, [0, 1], None, [1, 2]], np.s_[np.zeros((2, 3), np.uint8)],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_equals_numpy(tensor, check, index):
    check(tensor(A)[index], A[index])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_equals_numpy(tensor, check, random, index):
    wanted, x = A.copy(), tensor(A)
    values = random.normal(size=A[index].shape).astype(np.float32)
    wanted[index] = values
    x[index] = values
    check(x, wanted)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_one_number_equals_numpy(tensor, check, index):
    wanted, x = A.copy(), tensor(A)
    wanted[index] = 3
    x[index] = 3
    check(x, wanted)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_basic_index_equals_numpy(data):
    shape = data.draw(npst.array_shapes(max_dims=3, max_side=5))
    array = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(npst.basic_indices(shape, allow_newaxis=True))
    assert np.array_equal(Tensor(array, device="reference")[index].numpy(), array[index])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_integer_array_index_equals_numpy(data):
    shape = data.draw(npst.array_shapes(max_dims=3, max_side=4))
    array = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(npst.integer_array_indices(shape, dtype=np.int64))
    assert np.array_equal(Tensor(array, device="reference")[index].numpy(), array[index])


def test_a_mask_of_the_whole_array_writes_where_it_holds(tensor, check):
    x = tensor(A)
    x[x < 0] = 0
    check(x, np.where(A < 0, 0, A))


def test_old_values_are_read_before_new_ones_are_written(tensor, check):
    x, wanted = tensor(A[0]), A[0].copy()
    x[1:] = x[:-1]
    wanted[1:] = A[0][:-1]
    check(x, wanted)


def test_of_equal_places_the_last_one_is_written_also_if_it_is_zero(tensor, check):
    x = tensor(np.array([1, 2, 3, 4], np.int32))
    x[[0, 2, 2]] = np.array([9, 8, 0], np.int32)
    check(x, np.array([9, 2, 0, 4], np.int32))


def test_rows_that_are_not_picked_cannot_leak(tensor, check):
    table = np.array([[1.0, -0.0], [np.inf, np.nan], [-np.inf, 3.0]], np.float32)
    picked = tensor(table)[np.array([0, 2, 0])]
    check(picked, table[[0, 2, 0]])
    assert np.signbit(picked.numpy()[0, 1])


def test_an_index_dtype_too_small_for_the_table_does_not_wrap(tensor, check):
    table = np.arange(300, dtype=np.int32)
    places = np.array([0, 3, 43, 44, 255], np.uint8)
    check(tensor(table)[places], table[places])


def test_a_position_out_of_range_reads_zero(tensor, check):
    picked = tensor(A[0])[tensor(np.array([0, 9, -9]))]
    check(picked, np.stack([A[0][0], np.zeros(4, np.float32), np.zeros(4, np.float32)]))


def test_take_picks_along_an_axis(tensor, check):
    check(tensor(A).take([2, 0], 1), A.take([2, 0], 1))
    check(tensor(A).take([[5, 0]]), A.take([[5, 0]]))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (2, "index 2: outside axis 0 of size 2"),
        (np.s_[:, -4], "index -4: outside axis 1 of size 3"),
        (np.s_[0, 0, 0, 0], "4 indices: the array has 3 dimensions"),
        (np.s_[..., ...], "more than one ellipsis"),
        ("x", "index 'x'"),
        (1.0, "index 1.0"),
        (np.array([0.5]), "index of float64"),
        (np.array([True, False, True]), r"mask of shape \(3,\)"),
    ],
)
def test_a_wrong_index_is_an_index_error_that_says_why(tensor, index, message):
    with pytest.raises(IndexingError, match=message):
        tensor(A)[index]


@pytest.mark.parametrize("index", [np.s_[::0], np.s_[1.0:], np.s_[:"x"]])
def test_a_wrong_slice_is_the_error_that_numpy_raises(tensor, index):
    with pytest.raises((TypeError, ValueError)) as theirs:
        A[index]
    with pytest.raises(theirs.type, match="slice"):
        tensor(A)[index]


def test_rows_are_iterated_over(tensor, check):
    for mine, theirs in zip(tensor(A), A, strict=True):
        check(mine, theirs)


PUTS = {
    None: lambda a, i, v: np.put_along_axis(a, i, v, 1),
    "add": lambda a, i, v: np.add.at(a, (np.arange(3)[:, None], i), v),
    "maximum": lambda a, i, v: np.maximum.at(a, (np.arange(3)[:, None], i), v),
    "multiply": lambda a, i, v: np.multiply.at(a, (np.arange(3)[:, None], i), v),
}


@pytest.mark.parametrize("reduce", PUTS)
def test_elements_are_put_along_an_axis(tensor, check, random, reduce):
    x, values = random.integers(0, 9, (3, 5)) * 1.0, random.integers(0, 9, (3, 4)) * 1.0
    places = np.array([[0, -1, 2, 2], [1, 1, 1, 0], [4, 3, 2, 1]])
    wanted = x.copy()
    PUTS[reduce](wanted, places, values)
    check(tensor(x).put_along_axis(tensor(places), tensor(values), 1, reduce=reduce), wanted)


def test_an_unknown_reduction_is_refused(tensor):
    x = tensor(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="reduce 'mean': use one of add, multiply, maximum, min"):
        x.put_along_axis(tensor([[0], [0]]), 1.0, 1, reduce="mean")
