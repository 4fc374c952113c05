"""Any program of tensor operations equals the same program in NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import Tensor

UNARY = {
    "neg": lambda x: -x,
    "double": lambda x: x + x,
    "sign": lambda x: x * (x > 1),
    "T": lambda x: x.T,
    "flip": lambda x: x[::-1] if x.ndim else x,
    "flat": lambda x: x.reshape(-1),
    "column": lambda x: x[..., None],
    "step": lambda x: x[..., ::2] if x.ndim else x,
    "drop": lambda x: x[..., 1:] if x.ndim and x.shape[-1] > 1 else x,
    "sum": lambda x: x.sum(-1) if x.ndim else x,
    "sum all": lambda x: x.sum(),
    "max": lambda x: x.max(0) if x.ndim and x.shape[0] else x,
    "centre": lambda x: x - x.max(-1, keepdims=True) if x.ndim and x.shape[-1] else x,
    "pad": lambda x: _padded(x),
    "pad result": lambda x: _plus_one_padded(x),
}


def _padded(x):
    if not x.ndim:
        return x
    return x.pad(1) if isinstance(x, Tensor) else np.pad(x, 1)


def _plus_one_padded(x):
    return _padded(x + 1)


def _joined(a, b):
    """Both in one expression, whatever their shapes."""
    return a.sum() * b + a.sum()


@st.composite
def program(draw):
    """Steps over a growing list of values: (operation, operands)."""
    steps = []
    for count in range(2, 2 + draw(st.integers(1, 8))):
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(sorted(UNARY))), draw(st.integers(0, count - 1))))
        else:
            pair = (draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1)))
            steps.append(("join", pair))
    return steps


def run(steps, values):
    values = list(values)
    for name, operand in steps:
        if name == "join":
            values.append(_joined(values[operand[0]], values[operand[1]]))
        else:
            value = UNARY[name](values[operand])
            values.append(value if value.size <= 2000 else values[operand])
    return values


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_program_equals_numpys(data):
    shapes = data.draw(st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=2, max_size=2))
    arrays = [np.arange(np.prod(shape, dtype=int)).reshape(shape) - 3 for shape in shapes]
    steps = data.draw(program())
    wanted = run(steps, arrays)
    found = run(steps, [Tensor(array, device="reference") for array in arrays])
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.shape == theirs.shape
    assert np.array_equal(found[-1].numpy(), wanted[-1])
    assert np.array_equal(found[len(found) // 2].numpy(), wanted[len(found) // 2])
