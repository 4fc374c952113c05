"""What layers, losses, optimizers and recorded programs cannot work with is said at once."""

import numpy as np
import pytest

from compiler import Tensor, Variable, jit, nn, optim
from compiler.errors import CompilerError, JitError


def make():
    return nn.Initial(seed=0, device="reference")


def tensor(data):
    return Tensor(np.asarray(data), device="reference")


ROWS = tensor(np.ones((2, 3)))
WRONG = {
    "seed": (lambda: nn.Initial(seed="a"), TypeError, "seed is 'a'"),
    "inputs": (lambda: nn.Linear(make(), "a", 4), TypeError, "'a'"),
    "negative inputs": (lambda: nn.Linear(make(), -3, 4), ValueError, "negative"),
    "no inputs": (lambda: nn.Linear(make(), 0, 4), ValueError, "sum over nothing"),
    "kernel": (lambda: nn.Conv(make(), 3, 4, "a"), TypeError, "kernel is 'a'"),
    "groups": (lambda: nn.Conv(make(), 3, 4, (3,), groups=2), ValueError, "3 to 4 channels"),
    "cell": (lambda: nn.LSTMCell(make(), 3, 0), ValueError, "size 0"),
    "numbers": (lambda: nn.Embedding(make(), 5, 3)(tensor([1.5])), TypeError, "float64"),
    "labels": (lambda: nn.cross_entropy(ROWS, tensor([0.0, 1.0])), TypeError, "float64"),
    "some labels": (lambda: nn.cross_entropy(ROWS, tensor([0])), ValueError, r"\(1,\).*\(2, 3\)"),
    "learning rate": (lambda: optim.SGD([ROWS], "a"), TypeError, "learning rate is 'a'"),
    "parameters": (lambda: optim.Adam([tensor([1])]), TypeError, "int64"),
    "name": (lambda: Variable(3, 1, 2), TypeError, "variable 3"),
    "range": (lambda: Variable("n", "a", 2), TypeError, "from a to 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_by_name(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text) as found:
        call()
    assert isinstance(found.value, CompilerError)


@pytest.mark.parametrize(("function", "state"), [(3, ()), (len, (3,))])
def test_a_program_is_a_function_and_its_state_are_tensors(function, state):
    with pytest.raises(JitError, match="needs a function, and tensors as its state"):
        jit(function, state=state)
