"""Recurrent operators, where ONNX's reference evaluator has no answer: what is clipped."""

import numpy as np
import pytest

from compiler.frontend.onnx import run
from tests.frontend.test_onnx_operators import node

HIDDEN, LIMIT = 2, 0.4
RANDOM = np.random.default_rng(5)


def numbers(*shape):
    return (2 * RANDOM.standard_normal(shape)).astype(np.float32)


X = numbers(3, 2, 4)


def clipped(x):
    return np.clip(x, -LIMIT, LIMIT)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(weights, state):
    """The last state, by the equations in ONNX's description of the operator."""
    h = np.zeros((2, HIDDEN))
    for x in X:
        h = np.tanh(clipped(x @ weights.T + h @ state.T))
    return h


def gru(weights, state):
    h = np.zeros((2, HIDDEN))
    (wz, wr, wh), (rz, rr, rh) = (np.split(given, 3) for given in (weights, state))
    for x in X:
        update = sigmoid(clipped(x @ wz.T + h @ rz.T))
        reset = sigmoid(clipped(x @ wr.T + h @ rr.T))
        new = np.tanh(clipped(x @ wh.T + (reset * h) @ rh.T))
        h = (1 - update) * new + update * h
    return h


@pytest.mark.parametrize(("op", "gates", "equations"), [("RNN", 1, rnn), ("GRU", 3, gru)])
def test_clip_bounds_what_activations_are_given(op, gates, equations):
    weights, state = numbers(1, gates * HIDDEN, 4), numbers(1, gates * HIDDEN, HIDDEN)
    program, feed = node(op, X, weights, state, outputs=2, hidden_size=HIDDEN, clip=LIMIT, opset=14)
    found = run(program, feed, "reference")["y1"]
    np.testing.assert_allclose(found[0], equations(weights[0], state[0]), rtol=1e-5)
