"""The walk: what may be asked for, and how much work it is."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from compiler import DTypeError, Tensor
from compiler.errors import ShapeError
from compiler.frontend.gradient import gradient
from compiler.frontend.graph import toposort


def tensor(data):
    return Tensor(np.asarray(data), device="reference")


def test_inputs_may_be_asked_for_on_the_way():
    x = tensor([1.0, 2.0])
    y = x * 3
    by_x, by_y = (y * y).sum().gradient(x, y)
    assert by_x.numpy().tolist() == [18, 36]
    assert by_y.numpy().tolist() == [6, 12]


def test_nothing_is_computed_before_it_is_asked_for():
    x = tensor([1.0, 2.0])
    (found,) = (x * x).sum().gradient(x)
    assert "MUL" in repr(found.value) or "ADD" in repr(found.value)


def test_a_cotangent_weighs_the_elements_of_the_result():
    x = tensor([1.0, 2.0])
    (found,) = (x * x).gradient(x, cotangent=tensor([1.0, 10.0]))
    assert found.numpy().tolist() == [2, 40]


def test_only_the_gradient_of_one_number_needs_no_cotangent():
    x = tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"shape \(2,\): give a cotangent"):
        (x * x).gradient(x)
    with pytest.raises(ShapeError, match=r"cotangent of shape \(3,\).*\(2,\)"):
        (x * x).gradient(x, cotangent=tensor([1.0, 2.0, 3.0]))


def test_only_floats_have_gradients():
    x, n = tensor([1.0, 2.0]), tensor([1, 2])
    with pytest.raises(DTypeError, match="gradient of int64"):
        n.sum().gradient(x)
    with pytest.raises(DTypeError, match="input 1 of int64"):
        (x * n).sum().gradient(x, n)


def test_integers_on_the_way_end_it():
    x = tensor([1.5, 2.5])
    (found,) = (x * x.astype("int32")).sum().gradient(x)
    assert found.numpy().tolist() == [1, 2]


def test_an_input_that_was_realized_away_is_an_error_and_not_zeros():
    x = tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"input 0 of shape \(2,\): the result does not depend"):
        (x * 2).realize().sum().gradient(x)


def test_constants_are_no_inputs_because_equal_ones_are_the_same():
    x = Tensor.zeros((2,), device="reference")
    with pytest.raises(ShapeError, match="is a constant"):
        x.sum().gradient(x)


def graph_of(layers):
    x = y = tensor(np.ones(3))
    for _ in range(layers):
        y = (y * y).sin() + y  # shared: paths double with each layer
    return y.sum().value, x.value


def calls_of(action):
    """How many Python functions `action` calls: a measure of work that no clock disturbs."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def test_work_and_size_grow_as_the_graph_does():
    found = []
    for layers in (150, 300, 600):
        result, x = graph_of(layers)
        work = calls_of(lambda result=result, x=x: gradient(result, x))
        found.append((work, len(toposort(gradient(result, x)))))
    for (work, size), (more_work, more_size) in pairwise(found):
        assert more_work < 2.1 * work
        assert more_size < 2.1 * size
