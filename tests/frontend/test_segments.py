"""Scattering: by looking through everything and by sorting, the same rows."""

import numpy as np
import pytest

from compiler.frontend.functions.scatter import rows_added
from compiler.frontend.functions.segments import FEW, combined_rows, last_hits
from compiler.frontend.graph import toposort
from compiler.frontend.storage import from_array
from compiler.frontend.tensor import wrap
from compiler.ir import Op

NUMPY = {Op.ADD: (np.add, 0), Op.MAX: (np.maximum, -np.inf), Op.MUL: (np.multiply, 1)}
FEW_ROWS, MANY_ROWS = (60, 40, 2), (300, 8000, 2)  # given, rows, elements of a row


def scattered(op, given, places, length):
    ufunc, neutral = NUMPY[op]
    result = np.full((length, *given.shape[1:]), neutral, given.dtype)
    inside = (places >= 0) & (places < length)
    ufunc.at(result, places[inside], given[inside])
    return result


def drawn(random, count, length, width):
    """Whole numbers, so that every order of a sum is exact; places from -1 to one too many."""
    given = random.integers(-2, 3, (count, width)).astype(np.float64)
    return given, random.integers(-1, min(length, count // 2) + 1, count)


@pytest.mark.parametrize("sizes", [FEW_ROWS, MANY_ROWS])
@pytest.mark.parametrize("op", NUMPY)
def test_rows_are_combined_as_by_numpys_at(device, check, random, op, sizes):
    count, length, width = sizes
    given, places = drawn(random, count, length, width)
    found = combined_rows(op, from_array(given, device), from_array(places, device), length)
    check(wrap(found), scattered(op, given, places, length))


@pytest.mark.parametrize("length", [40, FEW // 300 + 1])
def test_the_last_of_equal_places_is_found(device, check, random, length):
    _, places = drawn(random, 300, length, 1)
    wanted = np.full(length, -1)
    for index, place in enumerate(places):
        if 0 <= place < length:
            wanted[place] = index
    found = last_hits(from_array(places, device), length)
    check(wrap(found).astype("int64"), wanted)


def test_much_is_not_looked_through():
    given, places = np.zeros((5000, 64), np.float32), np.zeros(5000, np.int64)
    found = rows_added(from_array(given, "reference"), from_array(places, "reference"), 50000)
    reductions = [value for value in toposort([found]) if value.kind.name == "REDUCE"]
    assert max(value.src[0].size for value in reductions) < FEW


def test_nothing_given_leaves_the_identity(device, check):
    given, places = np.zeros((0, 2)), np.zeros(0, np.int64)
    found = combined_rows(Op.ADD, from_array(given, device), from_array(places, device), 3)
    check(wrap(found), np.zeros((3, 2)))
