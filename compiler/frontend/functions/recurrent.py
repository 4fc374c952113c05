"""Recurrent layers over (time, batch, features), one direction at a time.

Weights are (gates * hidden, features): gates stand one after the other, in ONNX's order. The
share of the input in all steps is one product, the steps follow one after the other. A sequence
that is shorter than the others keeps its state, and its outputs there are 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from compiler.frontend import graph
from compiler.frontend.functions import movement
from compiler.frontend.functions.elementwise import add, clip, less, multiply, subtract, where
from compiler.frontend.functions.linalg import matmul
from compiler.frontend.functions.steps import row
from compiler.frontend.graph import Value
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import fixed

Bend: TypeAlias = Callable[[Value], Value]
State: TypeAlias = tuple[Value, ...]
Step: TypeAlias = Callable[[Value, State], State]  # the input's share and the state before


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the input, of the state, and a bias for each."""

    inputs: Value  # (gates * hidden, features)
    state: Value  # (gates * hidden, hidden)
    input_bias: Value | None = None  # (gates * hidden,)
    state_bias: Value | None = None

    @property
    def hidden(self) -> int:
        return self.state.shape[1]


@dataclass(frozen=True, slots=True)
class Run:
    """How steps go through time."""

    lengths: Value | None = None  # (batch,), all of it if None
    backwards: bool = False


def rnn(x: Value, weights: Weights, state: State, bend: Bend, run: Run) -> tuple[Value, State]:
    """Outputs of every step, and the last state (h,)."""

    def step(share: Value, before: State) -> State:
        return (bend(add(share, _of_state(before[0], weights.state, weights.state_bias))),)

    return _steps(step, _of_inputs(x, weights), state, run)


def gru(
    x: Value,
    weights: Weights,
    state: State,
    bends: tuple[Bend, Bend],
    run: Run,
    *,
    resets_product: bool,
) -> tuple[Value, State]:
    """Gates update, reset, hidden. `resets_product`: the reset gate acts after the product."""
    gate, bend = bends
    size = weights.hidden
    bias = weights.state_bias
    gates = _rows(weights.state, 0, 2 * size), _rows(bias, 0, 2 * size)
    hidden = _rows(weights.state, 2 * size, 3 * size), _rows(bias, 2 * size, 3 * size)
    assert gates[0] is not None
    assert hidden[0] is not None
    gate_weight, hidden_weight = gates[0], hidden[0]

    def step(share: Value, before: State) -> State:
        (h,) = before
        both = gate(add(_columns(share, 0, 2 * size), _of_state(h, gate_weight, gates[1])))
        update, reset = _columns(both, 0, size), _columns(both, size, 2 * size)
        if resets_product:
            inner = multiply(reset, _of_state(h, hidden_weight, hidden[1]))
        else:
            inner = _of_state(multiply(reset, h), hidden_weight, hidden[1])
        new = bend(add(_columns(share, 2 * size, 3 * size), inner))
        return (add(multiply(subtract(1.0, update), new), multiply(update, h)),)

    return _steps(step, _of_inputs(x, weights), state, run)


def lstm(
    x: Value,
    weights: Weights,
    state: State,
    bends: tuple[Bend, Bend, Bend],
    run: Run,
    *,
    peepholes: Value | None = None,
    input_forget: bool = False,
    limit: float | None = None,
) -> tuple[Value, State]:
    """Gates input, output, forget, cell; peepholes (3 * hidden,) of input, output, forget."""
    gate, bend, bend_output = bends
    size = weights.hidden
    peeps = [_rows(peepholes, i * size, (i + 1) * size) for i in range(3)]

    def gated(part: Value, peep: Value | None, cell: Value) -> Value:
        return gate(_clip(part if peep is None else add(part, multiply(cell, peep)), limit))

    def step(share: Value, before: State) -> State:
        h, cell = before
        total = add(share, _of_state(h, weights.state, weights.state_bias))
        parts = [_columns(total, i * size, (i + 1) * size) for i in range(4)]
        entry = gated(parts[0], peeps[0], cell)
        forget = subtract(1.0, entry) if input_forget else gated(parts[2], peeps[2], cell)
        new = add(multiply(forget, cell), multiply(entry, bend(_clip(parts[3], limit))))
        return multiply(gated(parts[1], peeps[1], new), bend_output(new)), new

    return _steps(step, _of_inputs(x, weights), state, run)


def _clip(x: Value, limit: float | None) -> Value:
    return x if limit is None else clip(x, -limit, limit)


def _of_inputs(x: Value, weights: Weights) -> Value:
    product = matmul(x, movement.matrix_transpose(weights.inputs))
    return product if weights.input_bias is None else add(product, weights.input_bias)


def _of_state(h: Value, weight: Value, bias: Value | None) -> Value:
    product = matmul(h, movement.matrix_transpose(weight))
    return product if bias is None else add(product, bias)


def _rows(x: Value | None, start: int, stop: int) -> Value | None:
    if x is None:
        return None
    return graph.shrink(x, ((start, stop), *[(0, size) for size in x.shape[1:]]))


def _columns(x: Value, start: int, stop: int) -> Value:
    return graph.shrink(x, (*[(0, size) for size in x.shape[:-1]], (start, stop)))


def _steps(step: Step, shares: Value, state: State, run: Run) -> tuple[Value, State]:
    count = fixed(shares.shape[0])
    shares = graph.contiguous(shares) if count > 1 else shares
    outputs: list[Value] = []
    for place in range(count - 1, -1, -1) if run.backwards else range(count):
        new = step(row(shares, 0, place), state)
        output = new[0]
        if run.lengths is not None:
            is_inside = _is_inside(run.lengths, place)
            output = where(is_inside, output, graph.full(0, output.dtype, (), output.device))
            new = tuple([where(is_inside, a, b) for a, b in zip(new, state, strict=True)])
        state = tuple([graph.contiguous(value) for value in new])
        outputs.append(output if run.lengths is not None else state[0])
    return _joined(outputs[::-1] if run.backwards else outputs), state


def _is_inside(lengths: Value, place: int) -> Value:
    at = from_array(np.asarray(place, np.int32), lengths.device)
    return movement.expand_dims(less(graph.cast(at, lengths.dtype), lengths), 1)


def _joined(rows: Sequence[Value]) -> Value:
    """All rows as one array. In steps of a few, as each part of a sum of parts looks at all."""
    values = [movement.expand_dims(value, 0) for value in rows]
    while len(values) > 1:
        groups = [values[i : i + 16] for i in range(0, len(values), 16)]
        values = [graph.contiguous(movement.concat(group, 0)) for group in groups]
    return values[0]
