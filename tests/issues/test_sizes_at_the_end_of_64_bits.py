"""Found by sizes whose values fit in 64 bits and whose formulas do not.

A number in a formula was cut to 64 bits, and `(n - 1) * (2**63 - 1)` more rows were others; jit
left out axes that were empty when it recorded, and sizes that are older than the program.
"""

import numpy as np
import pytest

from compiler import JitError, Tensor, Variable, jit
from compiler.errors import ShapeError

ROWS = Variable("n", 1, 2**31 - 1)


def bound(n, device="reference"):
    return Tensor(np.arange(1, n + 1, dtype="f4"), device=device).bind(ROWS)


FORMULAS = {
    "padding": lambda x, n: x.pad(((0, (n - 1) * (2**63 - 1)),))[-2:],
    "a slice of it": lambda x, n: x.pad(((0, (n - 1) * (2**63 - 1)),))[1:],
    "its rows": lambda x, n: x.reshape(1, -1).pad(((0, 1), (0, (n - 1) * 2**62))).sum(axis=1),
    "an operand": lambda x, n: x + ((n - 1) * (2**63 - 1) * 2 + 5),
    "a quotient": lambda x, n: x + ((n - 1) * 2**62 * 5 + 5) // 3,
    "a decision": lambda x, n: x if (n - 1) * 2**62 * 2 + 5 == 5 else x * 0,
    "a difference": lambda x, n: x.roll((n - 1) * -(2**62) - (n - 1) * 2**62 - (n - 1), 0),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_with_a_number_beyond_64_bits_is_refused(device, name):
    x = bound(1, device)
    with pytest.raises(ShapeError, match=r"^[^\n]* does not fit in 64 bits$"):
        FORMULAS[name](x, x.shape[0]).numpy()


FITTING = {
    "padding": lambda x, n: x.pad(((0, (n - 1) * 2**61),))[-2:],
    "compared": lambda x, n: x * 2 if n * 2**62 > (n - 1) * -(2**62) else x,
    "greatest": lambda x, n: x.pad((((n - 1) * (2**63 - 2), 0),)).flip(0),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_formula_whose_numbers_fit_is_right(device, name):
    x = bound(1, device)
    wanted = FITTING[name](Tensor(x.numpy(), device=device), 1).tolist()
    assert FITTING[name](x, x.shape[0]).tolist() == wanted


def windows_of_nothing(x):
    n = x.shape[0]
    many = x.reshape(-1, 1).tile(((n - 1) * 2**31, 1))
    return many.reshape((1, *many.shape)).expand((n * 2**28 + 1, *many.shape))[-2:, -2:] + 0


@pytest.mark.parametrize("first", [1, 2])
def test_a_recorded_program_counts_axes_that_were_empty(device, first):
    program = jit(windows_of_nothing)
    program(bound(first, device))
    for n in (1, 2):
        found, wanted = program(bound(n, device)), windows_of_nothing(bound(n, device))
        assert found.shape == wanted.shape
        assert found.tolist() == wanted.tolist()
    for n in (5, 9):
        with pytest.raises(ShapeError, match="is too big"):
            windows_of_nothing(bound(n, device))
        with pytest.raises(JitError, match=r"is right where .* than 2\*\*63 elements, now n"):
            program(bound(n, device))


def of_a_size(make):
    size = make(bound(1).shape[0])
    return lambda x: x.roll(size, 0) + 0


def of_a_width(make):
    size = make(bound(1).shape[0])
    return lambda x: x.pad(((0, size),)).sum()


def of_a_tensor(make):
    whole = make(Tensor.arange(bound(1).shape[0] * 2**62, device="reference"))
    return lambda x: x.sum() + whole.sum()


OLDER = {
    "a size": of_a_size(lambda n: n * 2**62 + 1),
    "a quotient": of_a_width(lambda n: (n * 2**62 + 1) // 2**60),
    "the end": of_a_tensor(lambda many: many[-1:]),
    "a place": of_a_tensor(lambda many: many[many.shape[0] // 3 :][:1]),
}


@pytest.mark.parametrize("name", OLDER)
def test_a_recorded_program_holds_what_is_older_to_64_bits(name):
    program = jit(OLDER[name])
    program(bound(1))
    program(bound(1))
    limit = r"(<= 9223372036854775807|has fewer than 2\*\*63 elements)"
    with pytest.raises(JitError, match=rf"is right where .* {limit}, now n = 2"):
        program(bound(2))


def test_a_recorded_program_follows_sizes_that_are_older():
    turn = bound(3).shape[0] - 1
    program = jit(lambda x: x.roll(turn, 0))
    program(bound(3))
    assert program(bound(5)).tolist() == [2, 3, 4, 5, 1]
