"""Order: stable, NaN last, in both directions, over blocks and merges; ranks, distinct elements."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.functions import ordering, sets, sorting
from compiler.frontend.graph import toposort
from compiler.frontend.tensor import wrap
from compiler.ir import Op

SPECIAL = np.array([1.0, np.nan, -0.0, 0.0, np.inf, -np.inf, -1.0, 0.0, np.nan, -0.0, 2.0])
LENGTHS = [1, 2, 255, 256, 257, 700]  # below, at and above one block; more than one merge


@pytest.mark.parametrize("length", LENGTHS)
def test_equal_elements_keep_their_order(tensor, check, random, length):
    x = random.integers(0, 20, (2, length)).astype(np.int32)
    check(tensor(x).argsort(1), np.argsort(x, 1, kind="stable"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64", "float16", "float64"])
def test_every_dtype_sorts_as_in_numpy(tensor, check, random, dtype):
    x = random.integers(-9, 9, (3, 40)).astype(dtype)
    check(tensor(x).sort(0), np.sort(x, 0, kind="stable"))


def test_nan_is_last_and_the_zeros_are_equal(tensor, check):
    check(tensor(SPECIAL).argsort(), np.argsort(SPECIAL, kind="stable"))


def test_descending_order_keeps_equal_elements_in_order(tensor, check):
    x = np.array([2, 3, 2, 3, 1], np.int64)
    check(tensor(x).argsort(descending=True), np.array([1, 3, 0, 2, 4]))


def test_nan_is_last_in_descending_order_too(tensor, check):
    x = np.array([1.0, np.nan, 2.0])
    check(tensor(x).sort(descending=True), np.array([2.0, 1.0, np.nan]))


def test_the_least_integer_is_below_all(tensor, check):
    x = np.array([0, -(2**63), 2**63 - 1, -1])
    check(tensor(x).sort(), np.sort(x))
    check(tensor(x).sort(descending=True), np.sort(x)[::-1])


@pytest.mark.parametrize("largest", [True, False])
def test_topk_takes_the_first_of_equals(tensor, check, largest):
    x = np.array([[3, 1, 3, 2], [1, 1, 0, 1]])
    values, places = tensor(x).topk(2, axis=1, largest=largest)
    order = np.argsort(-x if largest else x, 1, kind="stable")[:, :2]
    check(places, order)
    check(values, np.take_along_axis(x, order, 1))


def test_topk_of_more_than_there_are_is_an_error():
    with pytest.raises(ValueError, match=r"topk of \(3,\) along 0: has no 4 elements"):
        Tensor([1, 2, 3]).topk(4)


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_a_sorted_array_are_numpys(tensor, check, side):
    table = np.sort(SPECIAL)
    x = np.array([[0.0, -0.0, 5.0], [np.nan, np.inf, -7.0]])
    check(tensor(table).searchsorted(tensor(x), side=side), np.searchsorted(table, x, side))


def test_a_sorter_is_applied_first(tensor, check):
    x = np.array([3, 1, 2])
    order = np.argsort(x)
    found = tensor(x).searchsorted(tensor([2, 9]), sorter=tensor(order))
    check(found, np.searchsorted(x, [2, 9], sorter=order))


def test_a_search_costs_the_logarithm_of_the_table():
    def gathers(size):
        table, x = Tensor(np.arange(size)), Tensor(np.arange(3))
        found = sorting.searchsorted(table.value, x.value)
        return sum(value.kind.name == "GATHER" for value in toposort([found]))

    assert gathers(1 << 16) == 17
    assert gathers(15) == 4


def test_a_long_sort_compares_blocks_and_not_everything():
    found = ordering.argsort(Tensor(np.arange(1 << 16)).value)
    reductions = [v for v in toposort([found]) if v.kind.name == "REDUCE"]
    assert max(v.src[0].size for v in reductions) == (1 << 16) * ordering.BLOCK


def test_distinct_elements_are_numpys(tensor, check, random):
    x = random.integers(0, 6, (3, 50))
    for ours, theirs in zip(sets.unique_all(tensor(x).value), np.unique_all(x), strict=True):
        check(wrap(ours), theirs)


def test_nans_are_distinct_and_zeros_are_not(tensor, check):
    for ours, theirs in zip(
        sets.unique_all(tensor(SPECIAL).value), np.unique_all(SPECIAL), strict=True
    ):
        check(wrap(ours), theirs)


def test_nothing_has_no_distinct_elements(tensor):
    found = sets.unique_all(tensor(np.zeros((0, 3))).value)
    assert [value.shape for value in found] == [(0,), (0,), (0, 3), (0,)]


def test_membership_is_numpys(tensor, check):
    x, among = np.array([[1.0, np.nan, 3.0], [-0.0, 5.0, 9.0]]), np.array([0.0, 3.0, np.nan, 9.0])
    check(tensor(x).isin(tensor(among)), np.isin(x, among))
    check(tensor(x).isin(tensor(among), invert=True), np.isin(x, among, invert=True))


def test_places_that_hold_are_numpys(tensor, check, random):
    x = random.integers(0, 2, (4, 5))
    for ours, theirs in zip(tensor(x).nonzero(), np.nonzero(x), strict=True):
        check(ours, theirs)


def test_repetitions_may_differ(tensor, check):
    x, counts = np.arange(6.0).reshape(2, 3), np.array([2, 0, 3])
    check(tensor(x).repeat(tensor(counts), 1), np.repeat(x, counts, 1))


def test_sorting_launches_no_function_that_rounds():
    found = sorting.sort(Tensor(np.zeros(9, np.float32)).value)
    assert Op.FDIV not in [value.arg for value in toposort([found])]
