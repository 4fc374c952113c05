"""Any program of tensor operations equals the same program in NumPy, whatever is held and asked.

A program is a list of steps over a growing list of values; now and then some of them are realized,
and some are dropped, so that kernels read what others left in memory, and memory serves again.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import Tensor, jit
from compiler.frontend.tensor import realize_all

MOST = 2000  # elements of a value

UNARY = {
    "neg": lambda x: -x,
    "double": lambda x: x + x,
    "sign": lambda x: x * (x > 1),
    "divided": lambda x: x // 3 - x % -5,
    "bytes": lambda x: x.astype("uint8").astype("int64") + x.astype("int16"),
    "T": lambda x: x.T,
    "flip": lambda x: x[::-1] if x.ndim else x,
    "flat": lambda x: x.reshape(-1),
    "column": lambda x: x[..., None],
    "step": lambda x: x[..., ::2] if x.ndim else x,
    "drop": lambda x: x[..., 1:] if x.ndim and x.shape[-1] > 1 else x,
    "sum": lambda x: x.sum(-1) if x.ndim else x,
    "sum all": lambda x: x.sum(),
    "max": lambda x: x.max(0) if x.ndim and x.shape[0] else x,
    "argmax": lambda x: x.argmax(-1) if x.ndim and x.shape[-1] else x,
    "centre": lambda x: x - x.max(-1, keepdims=True) if x.ndim and x.shape[-1] else x,
    "running sum": lambda x: x.cumsum(-1) if x.ndim else x,
    "pad": lambda x: _padded(x),
    "pad result": lambda x: _plus_one_padded(x),
    "sorted": lambda x: _sorted(x),
    "picked": lambda x: x[np.array([0, -1, 0])] if x.ndim and x.shape[0] else x,
    "copied": lambda x: x.contiguous() if isinstance(x, Tensor) else x.copy(),
    "shifted in place": lambda x: _shifted_in_place(x),
    "masked in place": lambda x: _masked_in_place(x),
}
BINARY = {
    "join": lambda a, b: a.sum() * b + a.sum(),
    "choose": lambda a, b: _where(b > 1, _where(b > 1, b, b * a.sum()), b - 1),
    "choose otherwise": lambda a, b: _where(b > a.sum(), b, _where(b > a.sum(), -b, b + 1)),
    "concat": lambda a, b: _concat([a.reshape(-1), b.reshape(-1)]),
    "product": lambda a, b: a.reshape(-1, 1)[:9] @ b.reshape(1, -1)[:, :9],
    "place": lambda a, b: _put_in_place(a, b),
}


def _padded(x):
    if not x.ndim:
        return x
    return x.pad(1) if isinstance(x, Tensor) else np.pad(x, 1)


def _plus_one_padded(x):
    return _padded(x + 1)


def _sorted(x):
    if not x.ndim:
        return x
    return x.sort() if isinstance(x, Tensor) else np.sort(x, axis=-1)


def _where(cond, a, b):
    return Tensor.where(cond, a, b) if isinstance(cond, Tensor) else np.where(cond, a, b)


def _concat(parts):
    return Tensor.concat(parts) if isinstance(parts[0], Tensor) else np.concatenate(parts)


def _own(x):
    """A value of its own, that may be assigned to; NumPy reads what overlaps before it writes."""
    return x + 0


def _shifted_in_place(x):
    if x.ndim:
        x = _own(x)
        x[1:] = x[:-1]
        x[::-1] = x * 2 - 1
    return x


def _masked_in_place(x):
    if x.ndim:
        x = _own(x)
        x[x > 0] = 3
        x[x > 0] = -x[0].sum()
        x += 1
    return x


def _put_in_place(a, b):
    flat = _own(a.reshape(-1))
    if flat.shape[0] and b.size:
        flat[np.array([0, -1])] = b.sum()
        flat[::2] *= 2
    return flat


@st.composite
def program(draw):
    """Steps over a growing list of values: (operation, operands), or what happens in between."""
    steps, count = [], 2
    for _ in range(draw(st.integers(1, 10))):
        places = st.integers(0, count - 1)
        kind = draw(st.sampled_from(["unary", "unary", "binary", "realize", "let go"]))
        if kind == "unary":
            steps.append((draw(st.sampled_from(sorted(UNARY))), draw(places)))
        elif kind == "binary":
            steps.append((draw(st.sampled_from(sorted(BINARY))), (draw(places), draw(places))))
        else:
            steps.append((kind, tuple(draw(st.lists(places, min_size=1, max_size=3)))))
        count += kind in ("unary", "binary")
    return steps


def run(steps, given_values):
    """The values of a program; None where one was dropped. A dropped one is read as the first."""
    values = list(given_values)
    for name, operands in steps:
        if name == "let go":
            for place in operands:
                values[place] = values[place] if place < 2 else None
        elif name == "realize":
            found = [values[place] for place in operands if isinstance(values[place], Tensor)]
            realize_all(found)
        else:
            values.append(_applied(name, operands, values))
    return values


def _applied(name, operands, values):
    places = operands if isinstance(operands, tuple) else (operands,)
    found = [values[0] if values[place] is None else values[place] for place in places]
    value = (BINARY if name in BINARY else UNARY)[name](*found)
    return value if value.size <= MOST else found[0]


@st.composite
def question(draw):
    """Two arrays, a program over them, and the order in which its values are asked for."""
    shapes = draw(st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=2, max_size=2))
    arrays = [np.arange(np.prod(shape, dtype=int)).reshape(shape) - 3 for shape in shapes]
    return arrays, draw(program()), draw(st.randoms(use_true_random=False))


def check_program(asked, device):
    arrays, steps, order = asked
    wanted = run(steps, arrays)
    found = run(steps, [Tensor(array, device=device) for array in arrays])
    places = [place for place, value in enumerate(wanted) if value is not None]
    order.shuffle(places)
    for place in places:
        assert found[place].shape == wanted[place].shape
        assert np.array_equal(found[place].numpy(), wanted[place])


@settings(max_examples=100, deadline=None)
@given(question())
def test_any_program_equals_numpys(asked):
    check_program(asked, "reference")


@settings(max_examples=12, deadline=None)
@given(question())
def test_any_program_is_built_to_equal_numpys(asked):
    check_program(asked, "llvm")


@settings(max_examples=40, deadline=None)
@given(question())
def test_any_program_is_recorded_and_equals_numpys_for_other_numbers(asked):
    arrays, steps, _ = asked
    steps = [step for step in steps if step[0] not in ("realize", "let go")]
    recorded = jit(lambda *given_values: tuple(run(steps, given_values)))
    for shift in (0, 2, -1):
        moved = [array + shift for array in arrays]
        found = recorded(*[Tensor(array, device="reference") for array in moved])
        for mine, theirs in zip(found, run(steps, moved), strict=True):
            assert np.array_equal(mine.numpy(), theirs)
