"""Found by giving random indices to NumPy and to tensors.

A mask behind `...` was held against the first axes: x[..., mask] was refused, or took elements of
another axis. A mask of no elements was taken for a list of none; and an ellipsis that stands for no
axes separates arrays all the same.
"""

import numpy as np
import pytest

from compiler import Tensor

CUBE = np.arange(24).reshape(2, 3, 4)
COLUMNS = np.array([True, False, True, True])
INDICES = {
    "behind": (..., COLUMNS),
    "behind a new axis": (None, ..., COLUMNS),
    "of two axes": (..., CUBE[0] > 4),
    "before a place": (..., np.array([True, False, True]), -1),
    "beside a bool": (slice(None), True, ..., COLUMNS),
    "on both sides": (np.array([True, True]), ..., np.array([0, 3])),
    "of no elements": (slice(0, 0), np.ones((3, 4), bool)),
    "between arrays": (slice(None), np.array([1, 2]), ..., 0),
    "for no axes": (slice(None), slice(None), np.array([1, 2]), ...),
}


@pytest.mark.parametrize("name", INDICES)
def test_an_index_takes_and_changes_what_numpys_does(device, name):
    index, changed, mine = INDICES[name], CUBE.copy(), Tensor(CUBE, device=device)
    assert mine[index].shape == CUBE[index].shape
    assert mine[index].tolist() == CUBE[index].tolist()
    new = -np.arange(CUBE[index].size).reshape(CUBE[index].shape)
    changed[index], mine[index] = new, new
    assert mine.tolist() == changed.tolist()


def test_a_mask_of_no_elements_takes_its_axes(device):
    x, mask = np.zeros((0, 3, 2)), np.zeros((0, 3), bool)
    assert Tensor(x, device=device)[mask].shape == x[mask].shape
