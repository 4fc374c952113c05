"""Found by giving every function the indices, sections, axes and widths that NumPy takes.

`split` at a negative place read what lies before the buffer, on LLVM silently; `expand_dims`
without an axis made an array of one element; a single bool was no index; the outer product of bools
failed in the verifier.
"""

import numpy as np
import pytest

from compiler import Tensor

CUBE = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("places", [[-1], [1, -1], [-9], [2, 1], [0, 9], [-1, -2]])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_parts_between_places_are_those_of_slices(device, places, axis):
    found = Tensor(CUBE, device=device).split(places, axis)
    wanted = np.split(CUBE, places, axis)
    assert [part.tolist() for part in found] == [part.tolist() for part in wanted]


BOOLS = {
    "true": True,
    "false": False,
    "of numpy": np.True_,
    "an array": np.array(True),
    "beside a place": (True, 0),
    "after a place": (0, False),
    "beside a new axis": (None, True),
    "at the end": (Ellipsis, True),
    "twice": (True, slice(None), False),
    "beside an array": (True, [1, 0, 1]),
    "beside a mask": (np.array([True, False]), True),
}


@pytest.mark.parametrize("name", BOOLS)
def test_a_single_bool_is_an_axis_taken_once_or_not_at_all(device, name):
    index, changed, mine = BOOLS[name], CUBE.copy(), Tensor(CUBE, device=device)
    assert mine[index].shape == CUBE[index].shape
    assert mine[index].tolist() == CUBE[index].tolist()
    changed[index], mine[index] = -1, -1
    assert mine.tolist() == changed.tolist()


@pytest.mark.parametrize("index", [True, False])
def test_an_array_without_axes_has_elements_by_a_bool(device, index):
    number = np.array(3)
    assert Tensor(number, device=device)[index].tolist() == number[index].tolist()


def test_a_tensor_is_a_single_bool_as_well(device):
    mine = Tensor(CUBE, device=device)
    assert mine[mine.sum() > 0].shape == (1, 2, 3, 4)


@pytest.mark.parametrize("index", [((0, 1),), ((0, 1), (0, 2)), (slice(None), (0, 2))])
def test_a_tuple_in_an_index_is_an_array(device, index):
    assert Tensor(CUBE, device=device)[index].tolist() == CUBE[index].tolist()


def test_new_axes_have_to_be_named():
    with pytest.raises(TypeError, match="expand_dims at None"):
        Tensor(CUBE, device="reference").expand_dims(None)


@pytest.mark.parametrize("width", [((1, 2),), (1, 2), 1, ((1, 2), (0, 1), (2, 0))])
def test_padding_takes_one_width_one_pair_or_pairs(device, width):
    assert Tensor(CUBE, device=device).pad(width).tolist() == np.pad(CUBE, width).tolist()


def test_an_axis_may_be_rolled_twice(device):
    found = Tensor(CUBE, device=device).roll((1, 1, -1), (0, 2, 2))
    assert found.tolist() == np.roll(CUBE, (1, 1, -1), (0, 2, 2)).tolist()


def test_the_outer_product_of_bools_is_and(device):
    flags = np.array([True, False, True])
    assert Tensor(flags, device=device).outer(Tensor(flags, device=device)).tolist() == (
        np.outer(flags, flags).tolist()
    )
