"""Errors are of NumPy's kinds and name what they are about."""

import re

import numpy as np
import pytest

from compiler import Tensor
from compiler.errors import CompilerError

X = Tensor(np.ones((2, 3)), device="reference")

WRONG = {
    "fill value": (lambda: Tensor.full((2,), "a"), TypeError, "fill value is 'a'"),
    "arange": (lambda: Tensor.arange("a"), TypeError, "arange start is 'a'"),
    "arange step": (lambda: Tensor.arange(0, 3, 0), ValueError, "step is 0"),
    "arange nan": (lambda: Tensor.arange(float("nan")), ValueError, "arange of 0 to nan"),
    "linspace": (lambda: Tensor.linspace("a", 1, 2), TypeError, "linspace end is 'a'"),
    "complex": (lambda: Tensor([1j]), TypeError, "complex128"),
    "text": (lambda: Tensor("abc"), TypeError, "<U3"),
    "ragged": (lambda: Tensor([[1], [1, 2]]), ValueError, "tensor of list"),
    "broadcast": (lambda: X + Tensor([1, 2], device="reference"), ValueError, "(2, 3) and (2,)"),
    "dtype of bits": (lambda: X & 1, TypeError, "float64"),
    "power of bools": (lambda: (X > 0) ** (X > 0), TypeError, "power of bool: has no numbers"),
    "dtype name": (lambda: X.astype("qqq"), TypeError, "dtype qqq"),
    "operand": (lambda: X + "a", TypeError, "<U1"),
    "reshape": (lambda: X.reshape(7), ValueError, "(2, 3): 6 elements cannot be reshaped to (7,)"),
    "matmul": (lambda: X @ X, ValueError, "(2, 3) and (2, 3)"),
    "axis": (lambda: X.sum(axis=7), IndexError, "axis 7: the array has 2"),
    "axis type": (lambda: X.sum(axis="a"), TypeError, "axis is 'a'"),
    "index": (lambda: X[5], IndexError, "index 5: outside axis 0 of size 2"),
    "index type": (lambda: X["a"], IndexError, "index 'a'"),
    "float index": (lambda: X[1.5], IndexError, "index 1.5"),
    "mask": (lambda: X[[True]], IndexError, "mask of shape (1,)"),
    "ellipses": (lambda: X[..., ...], IndexError, "more than one ellipsis"),
    "too many": (lambda: X[0, 0, 0], IndexError, "3 indices: the array has 2"),
    "concat": (lambda: Tensor.concat([X, X.reshape(6)]), ValueError, "(2, 3) and (6,)"),
    "concat of one": (lambda: Tensor.concat(3), TypeError, "concat of int"),
    "stack": (lambda: Tensor.stack([X, X.reshape(6)]), ValueError, "(2, 3) and (6,)"),
    "repeat": (lambda: X.repeat(-1), ValueError, "repeats -1"),
    "correction": (lambda: X.var(correction="a"), TypeError, "correction is 'a'"),
    "decimals": (lambda: X.round("a"), TypeError, "decimals is 'a'"),
    "item": (lambda: X.item(), ValueError, "(2, 3): has 6 elements"),
    "max of nothing": (lambda: Tensor(np.ones((0, 2))).max(0), ValueError, "(0, 2)"),
    "a diagonal": (lambda: Tensor.einsum("ii", X[:, :1]), ValueError, "(2, 1): i is 2 and 1"),
    "dots": (lambda: Tensor.einsum("i...->i", X), ValueError, "the result has no ..."),
    "einsum": (lambda: Tensor.einsum("ij,jk", X, X), ValueError, "j is 3 and 2"),
    "take along": (lambda: X.take_along_axis(Tensor([0]), 0), ValueError, "differ in dimensions"),
    "take type": (lambda: X.take_along_axis(X, 0), IndexError, "index of float64"),
    "sort": (lambda: Tensor(1.0).sort(), ValueError, "shape ()"),
    "setitem": (lambda: X.__setitem__(9, 0), IndexError, "index 9"),
    "setitem shape": (
        lambda: X.__setitem__(0, [1, 2]),
        ValueError,
        "(2,) and (3,): do not broadcast",
    ),
    "in place": (lambda: X.__iadd__(np.ones((4, 2, 3))), ValueError, "(2, 3) cannot hold"),
    "conv_transpose": (lambda: X.conv_transpose(X), ValueError, "(2, 3) with (2, 3)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_is_of_numpys_kind_and_names_its_subject(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=re.escape(text)) as found:
        call()
    assert isinstance(found.value, CompilerError)
