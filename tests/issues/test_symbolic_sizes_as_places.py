"""Found by cutting tensors at places that are symbolic sizes.

A plain tensor cut there was of a plain shape, and its kernel had no value for the variable; a
symbolic step was a TypeError; n // 4 of 4 and of 5 was one size, and what was made of it for one n
stood in the graph of another.
"""

import numpy as np
import pytest

from compiler import Tensor, Variable, jit
from tests.frontend.symbolic_cases import compiles

ROWS = Variable("n", 1, 64)
TABLE = np.arange(300, dtype=np.float32).reshape(100, 3)
CUTS = {
    "rows": lambda x, n: x[n : n + 2],
    "rows from the end": lambda x, n: x[-n - 2 :][:2] + 1,
    "padding": lambda x, n: (
        np.pad(x, ((n, 70 - n), (0, 0)))
        if isinstance(x, np.ndarray)
        else x.pad(((n, 70 - n), (0, 0)))
    ),
    "a row": lambda x, n: x[n] * 2,
    "steps": lambda x, n: x[: 3 * n].reshape(-1)[:: n + 1],
    "steps back": lambda x, n: x[:n][::-n] + 0,
    "steps of a part": lambda x, n: x[:n].reshape(-1)[n - 1 :: n],
}


@pytest.mark.parametrize("name", CUTS)
def test_a_tensor_is_cut_at_symbolic_places(device, name):
    cut, table = CUTS[name], Tensor(TABLE, device=device)
    program = jit(lambda x: cut(table, x.shape[0]))

    def check(n):
        x = Tensor(TABLE[:n], device=device).bind(ROWS)
        for found in (cut(table, x.shape[0]), program(x)):
            assert np.array_equal(found.numpy(), cut(TABLE, n))

    check(7)
    assert compiles(lambda: [check(n) for n in (1, 5, 30)]) == 0


def test_equal_quotients_of_two_sizes_stand_in_two_graphs():
    table = Tensor(TABLE, device="reference")

    def cut(n):
        x = Tensor(TABLE[:n], device="reference").bind(ROWS)
        quarter = x.shape[0] // 4
        ones = Tensor.ones((quarter, 3), device="reference")
        return table[quarter : quarter + 2].sum() + (ones * x.sum()).sum()

    held = [cut(n) for n in (4, 5, 6)]
    wanted = [TABLE[1:3].sum() + 3 * TABLE[:n].sum() for n in (4, 5, 6)]
    assert [one.item() for one in held] == wanted
