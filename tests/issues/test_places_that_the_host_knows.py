"""Found by giving indices outside their axis as everything that an index can be.

Lists and NumPy's arrays, and the integers given to take, were taken for places that only a kernel
knows: they read 0 and wrote nothing. Arrays of indices that do not broadcast were a ValueError.
"""

import re

import numpy as np
import pytest

from compiler import Tensor, Variable, array_api
from compiler.errors import IndexingError

TABLE = np.arange(12.0).reshape(3, 4)
OUTSIDE = {
    "a list": [0, 5],
    "a list from the end": [[-4], [1]],
    "an array": np.array([5]),
    "of bytes": np.array([0, 200], np.uint8),
    "of no axes": np.array(5),
    "a number of NumPy's": np.int32(-4),
    "behind an ellipsis": (..., [4]),
    "beside a slice": (slice(1, 2), np.array([0, -5])),
    "beside a mask": (np.array([True, False, True]), [0, 4]),
    "beside a tensor": (Tensor(np.array([0, 1])), [0, 4]),
    "beside a place": ([3], 0),
    "in a tuple": ((0, 3),),
}
APART = {
    "two arrays": (np.array([0, 1]), np.array([0, 1, 2])),
    "lists": ([0, 1], [0, 1, 2], ...),
    "a mask and an array": (np.array([True, True, False]), np.array([0, 1, 2])),
    "tensors": (Tensor(np.array([0, 1])), Tensor(np.array([0, 1, 2]))),
}
AXES = re.compile(r"index (-?\d+): outside axis \d of size \d")
METHODS = {
    "take a number": lambda x, module: module.take(x, 9, axis=1),
    "take a list": lambda x, module: module.take(x, [0, -5], axis=1),
    "take of all": lambda x, module: module.take(x, [[12]]),
    "take along": lambda x, module: module.take_along_axis(x, np.array([[0, 4]] * 3), 1),
}


def theirs(index):
    return tuple(each.numpy() if isinstance(each, Tensor) else each for each in index)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_known_place_outside_its_axis_is_refused_in_reading_and_writing(name):
    index, x = OUTSIDE[name], Tensor(TABLE, device="llvm")
    with pytest.raises(IndexError):
        TABLE[theirs(index) if isinstance(index, tuple) else index]
    with pytest.raises(IndexingError, match=AXES):
        x[index]
    with pytest.raises(IndexingError, match=AXES):
        x[index] = 1
    assert np.array_equal(x.numpy(), TABLE)


@pytest.mark.parametrize("name", METHODS)
def test_functions_that_take_places_refuse_them_as_numpys_do(device, name):
    with pytest.raises(IndexError):
        METHODS[name](TABLE, np)
    with pytest.raises(IndexingError, match=AXES):
        METHODS[name](Tensor(TABLE, device=device), array_api)


def test_putting_outside_the_axis_is_refused(device):
    with pytest.raises(IndexingError, match="index 4: outside axis 1 of size 4"):
        Tensor(TABLE, device=device).put_along_axis([[0, 4]], 1.0, 1)


def test_the_error_names_the_place_the_axis_and_its_size(device):
    with pytest.raises(IndexingError, match=r"^index -9: outside axis 1 of size 4$"):
        Tensor(TABLE, device=device)[:, [3, -9]]


def test_a_symbolic_axis_is_held_to_the_size_it_has(device):
    x = Tensor(TABLE, device=device).bind(Variable("rows", 1, 8))
    assert x[[0, 2]].tolist() == TABLE[[0, 2]].tolist()
    with pytest.raises(IndexingError, match="index 3: outside axis 0"):
        x[[0, 3]]


def test_what_a_tensor_says_is_not_known(device):
    x = Tensor(TABLE, device=device)
    outside = Tensor(np.array([0, 5]), device=device)
    assert x[outside].tolist() == [TABLE[0].tolist(), [0.0] * 4]
    x[outside] = 9
    assert x.tolist() == [[9.0] * 4, *TABLE[1:].tolist()]


@pytest.mark.parametrize("name", APART)
def test_arrays_of_indices_that_do_not_broadcast_are_an_index_error(name):
    index, x = APART[name], Tensor(TABLE, device="llvm")
    with pytest.raises(IndexError, match="broadcast"):
        TABLE[theirs(index)]
    shapes = r"arrays of indices, shapes \(2,\) and \(3.*\): do not broadcast"
    with pytest.raises(IndexingError, match=shapes):
        x[index]
    with pytest.raises(IndexingError, match=shapes):
        x[index] = 1


def test_places_of_their_own_that_differ_elsewhere_are_an_index_error(device):
    x, places = Tensor(TABLE, device=device), np.zeros((5, 1), np.int64)
    with pytest.raises(IndexError):
        np.take_along_axis(TABLE, places, 1)
    with pytest.raises(IndexingError, match="sizes 3 and 5"):
        x.take_along_axis(places, 1)
    with pytest.raises(IndexingError, match="sizes 5 and 3"):
        x.put_along_axis(places, 1.0, 1)
