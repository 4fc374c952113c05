"""What layers, losses, optimizers and recorded programs cannot work with is said at once."""

import numpy as np
import pytest

from compiler import Tensor, Variable, jit, nn, optim
from compiler.errors import CompilerError, DTypeError, JitError


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
    "rate": (lambda: nn.Dropout("a", 1), TypeError, "dropout rate is 'a'"),
    "random seed": (lambda: nn.Dropout(0.5, "a"), TypeError, "seed is 'a'"),
    "momentum": (lambda: nn.BatchNorm(make(), 3, momentum="a"), TypeError, "momentum is 'a'"),
    "no groups": (lambda: nn.GroupNorm(make(), 0, 4), ValueError, "no 0 equal groups"),
    "a vector": (lambda: nn.BatchNorm(make(), 3)(tensor([1.0])), ValueError, r"\(1,\)"),
    "state": (lambda: nn.LSTMCell(make(), 3, 2)(ROWS, (ROWS,)), ValueError, "pair"),
    "a number of parameters": (lambda: optim.SGD(3, 0.1), TypeError, "optimizer of int"),
    "name": (lambda: Variable(3, 1, 2), TypeError, "variable 3"),
    "range": (lambda: Variable("n", "a", 2), TypeError, "from a to 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_by_name(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text) as found:
        call()
    assert isinstance(found.value, CompilerError)


CALLS = {
    "linear": lambda wrong: nn.Linear(make(), 3, 2)(wrong),
    "conv": lambda wrong: nn.Conv(make(), 1, 2, (2, 2))(wrong),
    "batch norm": lambda wrong: nn.BatchNorm(make(), 3)(wrong),
    "layer norm": lambda wrong: nn.LayerNorm(make(), 3)(wrong),
    "group norm": lambda wrong: nn.GroupNorm(make(), 1, 3)(wrong),
    "dropout": lambda wrong: nn.Dropout(0.5, 1)(wrong),
    "LSTM cell": lambda wrong: nn.LSTMCell(make(), 3, 2)(wrong, (ROWS, ROWS)),
    "GRU cell": lambda wrong: nn.GRUCell(make(), 3, 2).over(wrong, ROWS),
    "cross entropy": lambda wrong: nn.cross_entropy(ROWS, wrong),
    "mean squared error": lambda wrong: nn.mean_squared_error(wrong, ROWS),
    "accuracy": lambda wrong: nn.accuracy(wrong, ROWS),
    "minimize": lambda wrong: optim.minimize(wrong, optim.SGD([ROWS], 0.1)),
    "optimizer": lambda wrong: optim.Adam([wrong]),
}


@pytest.mark.parametrize("wrong", [np.ones((2, 3)), "a", None, 3], ids=["array", "text", "", "3"])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_tensor_is_refused_by_the_name_of_what_was_called(name, wrong):
    with pytest.raises(DTypeError, match=f"{name} of {type(wrong).__name__}: use a tensor"):
        CALLS[name](wrong)


@pytest.mark.parametrize(
    "layer", [nn.Linear, nn.Embedding, nn.LSTMCell, nn.GRUCell, nn.GroupNorm, nn.LayerNorm]
)
def test_a_layer_is_not_made_by_a_number(layer):
    with pytest.raises(DTypeError, match=r"made by 3: use nn\.Initial"):
        layer(3, 4, 4)


@pytest.mark.parametrize(("function", "state"), [(3, ()), (len, (3,)), (len, 3)])
def test_a_program_is_a_function_and_its_state_are_tensors(function, state):
    with pytest.raises(JitError, match="needs a function, and tensors as its state"):
        jit(function, state=state)
