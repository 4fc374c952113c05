"""Movements give NumPy's elements, and NumPy's kinds of errors."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.errors import AxisError, ShapeError

A = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
WIDTHS = ((1, 0), (0, 2), (3, 1))

MOVES = {
    "reshape": (lambda x: x.reshape(4, -1), lambda a: a.reshape(4, -1)),
    "reshape of a tuple": (lambda x: x.reshape((6, 4)), lambda a: a.reshape(6, 4)),
    "flatten": (lambda x: x.flatten(), lambda a: a.reshape(-1)),
    "flatten some": (lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
    "T": (lambda x: x.T, lambda a: a.T),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
    "transpose": (lambda x: x.transpose(1, 2, 0), lambda a: a.transpose(1, 2, 0)),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda a: a.swapaxes(0, -1)),
    "moveaxis": (lambda x: x.moveaxis((0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0))),
    "expand_dims": (lambda x: x.expand_dims((0, 2)), lambda a: np.expand_dims(a, (0, 2))),
    "squeeze": (lambda x: x[:1].squeeze(), lambda a: a[:1].squeeze()),
    "squeeze one": (lambda x: x[:1, :1].squeeze(1), lambda a: a[:1, :1].squeeze(1)),
    "expand": (
        lambda x: x[:, :1].expand(5, 2, 3, -1),
        lambda a: np.broadcast_to(a[:, :1], (5, 2, 3, 4)),
    ),
    "flip": (lambda x: x.flip(), np.flip),
    "flip some": (lambda x: x.flip((0, 2)), lambda a: np.flip(a, (0, 2))),
    "roll": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "roll axes": (lambda x: x.roll((1, -1), (0, 2)), lambda a: np.roll(a, (1, -1), (0, 2))),
    "repeat": (lambda x: x.repeat(2, 1), lambda a: a.repeat(2, 1)),
    "tile": (lambda x: x.tile((2, 1, 1, 3)), lambda a: np.tile(a, (2, 1, 1, 3))),
    "pad": (lambda x: x.pad(WIDTHS), lambda a: np.pad(a, WIDTHS)),
    "pad by a number": (lambda x: x.pad(1, 7), lambda a: np.pad(a, 1, constant_values=7)),
    "tril": (lambda x: x.tril(1), lambda a: np.tril(a, 1)),
    "triu": (lambda x: x.triu(-1), lambda a: np.triu(a, -1)),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_movements_equal_numpys(tensor, check, name):
    ours, numpys = MOVES[name]
    check(ours(tensor(A)), numpys(A))


def test_padding_an_expression_pads_with_zeros(tensor, check):
    x = np.array([1.0, 2.0])
    check(tensor(x).exp().pad(1), np.pad(np.exp(x), 1), rtol=1e-15)


def test_concat_and_stack_equal_numpys(tensor, check):
    x, y = tensor(A), tensor(A + 0.5)
    check(Tensor.concat([x, y], 1), np.concatenate([A, A + 0.5], 1))
    check(Tensor.concat([x, x[:0], x], 0), np.concatenate([A, A], 0))
    check(Tensor.concat([x, y], None), np.concatenate([A, A + 0.5], None))
    check(Tensor.stack([x, y], -1), np.stack([A, A + 0.5], -1))


def test_concat_keeps_the_sign_of_zero(tensor):
    parts = [tensor(np.array([-0.0])), tensor(np.array([-0.0, 1.0]))]
    assert np.signbit(Tensor.concat(parts).numpy()).tolist() == [True, True, False]


def test_split_and_unstack_equal_numpys(tensor, check):
    for mine, theirs in zip(tensor(A).split(2, 2), np.split(A, 2, 2), strict=True):
        check(mine, theirs)
    for mine, theirs in zip(tensor(A).split((1, 2), 1), np.split(A, (1, 2), 1), strict=True):
        check(mine, theirs)
    for mine, theirs in zip(tensor(A).unstack(1), A.swapaxes(0, 1), strict=True):
        check(mine, theirs)


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (lambda x: x.reshape(5, 5), r"\(2, 3, 4\).*\(5, 5\)"),
        (lambda x: x.reshape(7, -1), r"\(7, -1\)"),
        (lambda x: x.expand(2, 5, 4), r"\(2, 5, 4\)"),
        (lambda x: x.squeeze(1), "axis 1: has size 3"),
        (lambda x: x.transpose(0, 0, 1), "twice"),
        (lambda x: x.transpose(0, 1), "3 dimensions"),
        (lambda x: x.pad(((1, 1),) * 2), "3 dimensions"),
        (lambda x: x.split(2, 1), "no 2 equal parts"),
        (lambda x: Tensor.concat([x, x[:, :2]], 0), r"\(2, 3, 4\) and \(2, 2, 4\)"),
        (lambda x: Tensor.stack([x, x[:1]]), "shapes differ"),
        (lambda x: Tensor.concat([]), "no arrays"),
    ],
)
def test_shapes_that_do_not_fit_are_value_errors_that_say_so(tensor, move, message):
    with pytest.raises(ShapeError, match=message):
        move(tensor(A))


def test_an_axis_out_of_range_is_a_value_error_and_an_index_error_as_in_numpy(tensor):
    with pytest.raises(AxisError, match="axis 3: the array has 3 dimensions"):
        tensor(A).flip(3)
    assert issubclass(AxisError, ValueError)
    assert issubclass(AxisError, IndexError)
