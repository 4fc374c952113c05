"""Scheduling is linear: twice the graph is twice the work, counted in calls, not in seconds."""

import sys

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.graph import toposort
from compiler.frontend.schedule import split
from compiler.frontend.storage import storage_of
from compiler.ir import toposort as nodes_of


def tensor(*shape):
    return Tensor(np.ones(shape, np.float32), device="reference")


def chain(layers):
    x = tensor(8)
    for _ in range(layers):
        x = (x * 1.5 + 1).abs()
    return [x]


def shared(layers):
    """Paths double with every layer."""
    x = tensor(8)
    for _ in range(layers):
        x = x + x * x
    return [x]


def tree(leaves):
    level = [tensor(8) * i for i in range(leaves)]
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + level[
            len(level) // 2 * 2 :
        ]
    return level


def reductions(layers):
    x = tensor(4, 4)
    for _ in range(layers):
        x = (x - x.max(1, keepdims=True)).exp()
    return [x]


def stencil(steps):
    """Each element is seen from more places with every step."""
    x = tensor(16, 16)
    for _ in range(steps):
        p = x.pad(1)
        x = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) * 0.25
    return [x]


def rolls(steps):
    x = tensor(64)
    for _ in range(steps):
        x = x + x.roll(1)
    return [x]


def backward_chain(layers):
    x = y = tensor(8)
    for _ in range(layers):
        y = (y * 1.5 + y).tanh()
    return y.sum().gradient(x)


def backward_layers(layers):
    x, weights = tensor(4, 4), [tensor(4, 4) for _ in range(layers)]
    for weight in weights:
        x = (x @ weight).layer_norm().relu()
    return x.sum().gradient(*weights)


def backward_convolutions(layers):
    x, weights = tensor(1, 2, 6, 6), [tensor(2, 2, 3, 3) for _ in range(layers)]
    for weight in weights:
        x = x.conv(weight, padding=1).relu()
    return x.sum().gradient(*weights)


PROGRAMS = {
    chain: 50,
    shared: 100,
    tree: 100,
    reductions: 12,
    stencil: 12,
    rolls: 24,
    backward_chain: 40,
    backward_layers: 6,
    backward_convolutions: 4,
}


def work(roots):
    """Python calls of one `split`, and the kernels."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    values = [root.value for root in roots]
    sys.setprofile(note)
    try:
        kernels = split(values, storage_of)
    finally:
        sys.setprofile(None)
    return count, kernels


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_work_and_kernels_grow_as_the_graph_does(program):
    size = PROGRAMS[program]
    one, two = work(program(size)), work(program(2 * size))
    assert two[0] < 2.4 * one[0]
    totals = [sum(len(nodes_of(kernel.ast)) for kernel in kernels) for _, kernels in (one, two)]
    assert totals[1] < 2.4 * totals[0]


def calls_per_value(roots):
    return work(roots)[0] / len(toposort([root.value for root in roots]))


def test_a_chain_of_100_layers_is_visited_a_bounded_number_of_times():
    assert calls_per_value(chain(100)) < 100


def test_a_graph_of_1000_nodes_is_visited_a_bounded_number_of_times():
    (root,) = tree(250)
    assert len(toposort([root.value])) > 700
    assert calls_per_value([root]) < 100


def test_a_reduction_over_a_prime_length_is_as_much_work_as_over_any():
    lengths = (10007, 10000) * 2  # the first round fills the caches of views
    *_, prime, other = [work([tensor(length).sum()])[0] for length in lengths]
    assert prime == other


def test_backward_passes_of_deep_chains_are_computed():
    x = y = tensor(4)
    for _ in range(400):
        y = y * 0.5 + y.sin() * 0.25
    (found,) = y.sum().gradient(x)
    assert np.isfinite(found.numpy()).all()


def test_a_step_that_looks_around_is_stored_before_its_views_multiply():
    _, kernels = work(stencil(12))
    assert max(len(nodes_of(kernel.ast)) for kernel in kernels) < 1000


@pytest.mark.parametrize("layers", [80, 320])
def test_a_gradient_that_goes_back_over_a_long_chain_computes_little_twice(layers):
    roots = backward_chain(layers)
    values = toposort([root.value for root in roots])
    calls, kernels = work(roots)
    assert calls < 100 * len(values)
    assert sum(len(nodes_of(kernel.ast)) for kernel in kernels) < 1.5 * len(values)
