"""Optimizers take the steps of their formulas; with and without jit they are the same."""

import numpy as np
import pytest

from compiler import CompileStarted, Tensor, jit, observing, optim
from compiler.errors import ShapeError

START = np.array([3.0, -2.0, 0.5])
STEPS = 4


def gradient(x):
    """Of sum(x ** 4) / 4 + sum(x)."""
    return x**3 + 1


def loss(x):
    return (x**4).sum() / 4 + x.sum()


def run(make, steps=STEPS, is_jitted=False):
    x = Tensor(START, device="reference")
    optimizer = make([x])

    def step():
        return optim.minimize(loss(x), optimizer)

    program = jit(step, state=optimizer.state) if is_jitted else step
    for _ in range(steps):
        program()
    return x.numpy()


def sgd(momentum=0.0, decay=0.0, nesterov=False):
    x, velocity = START.copy(), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(x) + decay * x
        velocity = momentum * velocity + g
        x = x - 0.01 * (g + momentum * velocity if nesterov else velocity)
    return x


def adam(decay=0.0, decoupled=False):
    x, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(x) + (0 if decoupled else decay * x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        move = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        x = x - 0.01 * (move + (decay * x if decoupled else 0))
    return x


CASES = {
    "sgd": (lambda p: optim.SGD(p, 0.01), sgd()),
    "momentum": (lambda p: optim.SGD(p, 0.01, momentum=0.9), sgd(0.9)),
    "nesterov": (lambda p: optim.SGD(p, 0.01, momentum=0.9, nesterov=True), sgd(0.9, 0, True)),
    "decay": (lambda p: optim.SGD(p, 0.01, weight_decay=0.1), sgd(decay=0.1)),
    "adam": (lambda p: optim.Adam(p, 0.01), adam()),
    "adam with decay": (lambda p: optim.Adam(p, 0.01, weight_decay=0.1), adam(0.1)),
    "adamw": (lambda p: optim.AdamW(p, 0.01, weight_decay=0.1), adam(0.1, True)),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_follow_the_formula(name):
    make, wanted = CASES[name]
    # the learning rate and Adam's powers are float32
    np.testing.assert_allclose(run(make), wanted, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_steps_of_a_recorded_program_are_the_same(name):
    make, _ = CASES[name]
    assert run(make, is_jitted=True).tobytes() == run(make).tobytes()


def test_every_step_runs_the_same_kernels():
    events = []

    def make(p):
        return optim.Adam(p, 0.02)

    run(make, steps=1)
    with observing(events.append):
        run(make, steps=5)
    assert not [event for event in events if isinstance(event, CompileStarted)]


def test_the_learning_rate_may_be_assigned():
    x = Tensor(START, device="reference")
    optimizer = optim.SGD([x], 0.5)
    optimizer.learning_rate *= 0.0
    optim.minimize(loss(x), optimizer)
    assert x.numpy().tolist() == START.tolist()


def test_gradients_of_other_shapes_and_no_parameters_are_refused():
    x = Tensor(START, device="reference")
    with pytest.raises(ShapeError, match=r"gradients of shapes \[\(2,\)\].*\[\(3,\)\]"):
        optim.SGD([x], 0.1).step([x[:2]])
    with pytest.raises(ShapeError, match="no parameters"):
        optim.Adam([])


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_steps_of_float64_follow_the_formula_in_float64(kind):
    start, rate, decay = np.array([1.0, -2.0, 0.3]), 0.01, 0.1
    weight = Tensor(start, device="reference")
    optimizer = kind([weight], rate, weight_decay=decay)
    wanted, mean, square = start.copy(), np.zeros(3), np.zeros(3)
    for step in range(1, 6):
        slope = 3 * wanted**2
        if kind is optim.Adam:
            slope = slope + decay * wanted
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        move = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        wanted = wanted - rate * (move + (decay * wanted if kind is optim.AdamW else 0))
        optim.minimize((weight * weight * weight).sum(), optimizer)
        np.testing.assert_allclose(weight.numpy(), wanted, rtol=1e-13)
