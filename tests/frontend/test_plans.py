"""Graphs of one form are scheduled once, and every graph computes its own elements."""

from collections import OrderedDict

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.schedule import plan, plans, split
from compiler.frontend.storage import storage_of


@pytest.fixture
def splits(monkeypatch):
    """How often a graph was split into kernels."""
    monkeypatch.setattr(plans, "_plans", OrderedDict())
    found = []

    def counted(roots, memory_of, *, keeps_rows):
        found.append(len(roots))
        return split(roots, memory_of, keeps_rows=keeps_rows)

    monkeypatch.setattr(plans, "split", counted)
    return found


def rows(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_a_graph_of_a_known_form_is_not_split_again(splits):
    for seed in range(3):
        a, b = rows(seed, 5, 7), rows(seed + 9, 7, 3)
        assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, rtol=1e-5)
    assert splits == [1]


def test_with_and_without_rows_are_two_plans(splits):
    value = Tensor(rows(0, 5, 7)).softmax(1).value
    kept, cut = [len(plan([value], storage_of, keeps_rows=keeps)) for keeps in (True, False)]
    assert (kept, cut) == (1, 3)


def test_sizes_and_constants_are_part_of_the_form(splits):
    for factor, size in ((2, 4), (3, 4), (2, 5)):
        a = rows(0, size)
        assert np.array_equal((Tensor(a) * factor).numpy(), a * np.float32(factor))
    assert len(splits) == 3


def test_one_memory_seen_twice_is_another_form_than_two(splits):
    a, b = rows(0, 4, 4), rows(1, 4, 4)
    first = Tensor(a)
    assert np.allclose((first @ first).numpy(), a @ a, rtol=1e-5)
    assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, rtol=1e-5)
    assert len(splits) == 2


def test_what_is_in_memory_already_is_part_of_the_form(splits):
    a = rows(0, 4, 4)
    for realizes in (False, True, False):
        middle = Tensor(a) + 1
        if realizes:
            middle.realize()
        assert np.array_equal((middle * 2).numpy(), (a + 1) * 2)
    assert len(splits) == 3  # a + 1 alone is one of them


def test_a_plan_gives_what_split_gives():
    for seed in range(2):
        value = (Tensor(rows(seed, 6, 6)).softmax(axis=1) @ Tensor(rows(7, 6, 2))).value
        assert plan([value], storage_of) == split([value], storage_of)
