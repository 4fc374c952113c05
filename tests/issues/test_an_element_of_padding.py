"""Found by random programs: `x.pad((0, 6))[9] + 1` was refused, or read what is no padding.

A single element has no axes, and so no mask that could say that it lies in padding: merged into one
view, it was an element of the buffer.
"""

import numpy as np
import pytest

from compiler import Tensor
from compiler.ir import ViewStack

X = np.arange(1, 10)


@pytest.mark.parametrize("place", range(13))
def test_one_element_of_something_padded_is_numpys(device, place):
    mine = Tensor(X, device=device)
    found = mine[3:7].pad((4, 5))[place] + 1
    assert found.item() == np.pad(X[3:7], (4, 5))[place] + 1


@pytest.mark.parametrize("place", [0, 8, 9, 17, 18, 26])
def test_one_element_of_arrays_in_a_row_is_numpys(device, place):
    mine = Tensor(X, device=device)
    found = Tensor.concat([mine, mine * 2, mine[::-1]])[place] * 3
    assert found.item() == np.concatenate([X, X * 2, X[::-1]])[place] * 3


def test_an_element_of_padding_stays_void_without_axes():
    element = ViewStack.contiguous((6,)).pad(((0, 6),)).shrink(((9, 10),)).reshape(())
    assert element.is_void
