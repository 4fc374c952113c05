"""Found by assigning twice under one mask: `x[mask] = a; x[mask] = b`.

A choice inside the same choice says nothing, so one of its branches is dropped from the kernel; the
buffers that only this branch would have read were still counted, and the kernel was refused.
"""

from itertools import product

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.launches import counting_launches

MASK = np.array([True, False, True, False])
ARRAYS = [np.arange(4.0) + 10 * i for i in range(4)]
ROWS = np.arange(12.0).reshape(4, 3)


def nested(where, cond, first, second, third):
    """Choices in the first branch, in the second, and in both."""
    return (
        where(cond, where(cond, first, second), third),
        where(cond, first, where(cond, second, third)),
        where(cond, where(cond, first, second), where(cond, third, second)),
        where(cond, where(cond, first, second), first),
        where(cond, where(cond, where(cond, first, second), third), second) + third,
    )


@pytest.mark.parametrize("order", list(product(range(3), repeat=3)))
def test_choices_inside_the_same_choice_are_numpys(device, order):
    arrays = [ARRAYS[i] for i in order]
    mine = [Tensor(array, device=device) for array in arrays]
    found = nested(Tensor.where, Tensor(MASK, device=device), *mine)
    for one, wanted in zip(found, nested(np.where, MASK, *arrays), strict=True):
        assert one.tolist() == wanted.tolist()


def test_a_reduction_in_a_branch_that_is_dropped(device):
    def program(where, mask, rows, a, b):
        return where(mask, where(mask, a, rows.sum(1)), b), where(mask, a, where(mask, a, b))

    mine = [Tensor(array, device=device) for array in (MASK, ROWS, *ARRAYS[:2])]
    found = program(Tensor.where, *mine)
    for one, wanted in zip(found, program(np.where, MASK, ROWS, *ARRAYS[:2]), strict=True):
        assert one.tolist() == wanted.tolist()


def test_a_mask_assigns_twice(device):
    mask, x = Tensor(MASK, device=device), Tensor(ARRAYS[0], device=device)
    x[mask] = 1.0
    x[mask] = Tensor(5.0, device=device)
    assert x.tolist() == [5.0, 1.0, 5.0, 3.0]


def test_sums_that_only_dropped_branches_read_are_not_computed(device):
    """Two kernels that nobody read were joined, and the one that they made stored nothing."""

    def choose(where, x, y):
        return where(y > 1, where(y > 1, y, y * x.sum()), y - 1)

    def program(where, x):
        first = choose(where, x, x)
        return choose(where, choose(where, first, x), x)

    for array in (np.array([-3]), np.array([-3, 5])):
        found = program(Tensor.where, Tensor(array, device=device))
        with counting_launches() as launches:
            assert found.tolist() == program(np.where, array).tolist()
        assert launches.count == 1
