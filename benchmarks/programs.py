"""Tensor programs of the kind people write; `python -m benchmarks.tensors` runs them all.

To add one: a function of a tensor class, and its name in PROGRAMS. The class is an argument, so
that a compiler with the same tensor methods can be measured on the same programs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Values = tuple[Any, ...]  # of the class that was given


def _random(tensor: Any, *shape: int) -> Any:  # noqa: ANN401  # of the class that was given
    return tensor(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))


def elementwise(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x, y = _random(tensor, 256, 256), _random(tensor, 256, 256)
    return (x + y, x * y + 1, (x - y).relu(), x.exp(), x.sigmoid(), (x * 0.5).tanh(), x.maximum(y))


def reductions(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x = _random(tensor, 256, 512)
    return (x.sum(), x.sum(axis=0), x.sum(axis=1), x.max(axis=1), x.mean(axis=0), x.softmax(axis=1))


def statistics(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x = _random(tensor, 64, 384)
    centred = x - x.mean(axis=1, keepdims=True)
    return (centred, (centred * centred).mean(axis=1), x.var(axis=1), x.argmax(axis=1))


def products(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x, y, v = _random(tensor, 96, 64), _random(tensor, 64, 80), _random(tensor, 64)
    return (x @ y, x @ v, (x @ y).relu(), x.T @ x, (x @ y + 1).sum(axis=0))


def perceptron(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x, w1, w2 = _random(tensor, 32, 64), _random(tensor, 64, 128), _random(tensor, 128, 10)
    return (((x @ w1).relu() @ w2).log_softmax(axis=1),)


def attention(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    q, k, v = (_random(tensor, 4, 32, 16) for _ in range(3))
    return (((q @ k.swapaxes(1, 2)) * 0.25).softmax(axis=2) @ v,)


def convolutions(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x, w = _random(tensor, 1, 8, 24, 24), _random(tensor, 16, 8, 3, 3)
    y = x.conv2d(w).relu()
    return (y, y.max_pool2d((2, 2)), y.avg_pool2d((2, 2)), x.conv2d(_random(tensor, 4, 8, 1, 1)))


def movements(tensor: Any) -> Values:  # noqa: ANN401  # an array of either package
    x = _random(tensor, 48, 64)
    return (
        x.T.contiguous(),
        x.flip(0) + x,
        x.pad(((1, 1), (2, 2))) * 2,
        (x.reshape(24, 128) + 1).T.contiguous(),
        x[5:40, ::2] * 3,
        tensor.concat((x, x * 2), 1),
        x.cumsum(axis=1),
    )


PROGRAMS: tuple[Callable[[Any], Values], ...] = (
    elementwise,
    reductions,
    statistics,
    products,
    perceptron,
    attention,
    convolutions,
    movements,
)
