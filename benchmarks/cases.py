"""Programs over arrays, for a package with NumPy's operators and for NumPy itself.

To add a case: a function of the inputs for either side, and a line in CASES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """What is computed, of inputs of these shapes, and how close NumPy's result must be."""

    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    rtol: float = 1e-3


def _matmul(a: Any, b: Any) -> Any:  # noqa: ANN401  # arrays of either package
    return a @ b


def _transposed(a: Any, b: Any) -> Any:  # noqa: ANN401  # arrays of either package
    return a.T @ b


def _by_transposed(a: Any, b: Any) -> Any:  # noqa: ANN401  # arrays of either package
    return a @ b.T


def _conv(x: Any, weight: Any) -> Any:  # noqa: ANN401  # any tensor
    return x.conv(weight, padding=weight.shape[-1] // 2)


def _as_matmul(x: Any, weight: Any) -> Any:  # noqa: ANN401  # any array
    """The convolution as people write it in NumPy: windows as columns, then one product."""
    outputs, channels, size = weight.shape[:3]
    pads = ((0, 0), (size // 2, size // 2), (size // 2, size // 2))
    padded = np.pad(x[0], pads) if size > 1 else x[0]
    seen = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
    height, width = seen.shape[1:3]
    columns = seen.transpose(0, 3, 4, 1, 2).reshape(channels * size * size, height * width)
    return (weight.reshape(outputs, -1) @ columns).reshape(1, outputs, height, width)


def _softmax(x: Any) -> Any:  # noqa: ANN401  # any array
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _layernorm(x: Any) -> Any:  # noqa: ANN401  # any array of either package
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / (variance + 1e-5) ** 0.5


def _square(n: int, count: int = 2) -> tuple[tuple[int, ...], ...]:
    return ((n, n),) * count


def _image(channels: int, size: int, outputs: int, kernel: int) -> tuple[tuple[int, ...], ...]:
    return (1, channels, size, size), (outputs, channels, kernel, kernel)


CASES: dict[str, Case] = {
    "matmul 512": Case(_square(512), _matmul, _matmul),
    "matmul 1024": Case(_square(1024), _matmul, _matmul),
    "matmul 2048": Case(_square(2048), _matmul, _matmul),
    "matmul 500x700x300": Case(((500, 700), (700, 300)), _matmul, _matmul),
    "A.T @ B 1024": Case(_square(1024), _transposed, _transposed),
    "A @ B.T 1024": Case(_square(1024), _by_transposed, _by_transposed),
    "relu(A @ B + C) 1024": Case(
        _square(1024, 3),
        lambda a, b, c: (a @ b + c).relu(),
        lambda a, b, c: np.maximum(a @ b + c, 0),
    ),
    "conv 3x3 64 to 64 of 56x56": Case(_image(64, 56, 64, 3), _conv, _as_matmul),
    "conv 3x3 128 to 128 of 28x28": Case(_image(128, 28, 128, 3), _conv, _as_matmul),
    "conv 3x3 256 to 256 of 14x14": Case(_image(256, 14, 256, 3), _conv, _as_matmul),
    "conv 1x1 64 to 128 of 56x56": Case(_image(64, 56, 128, 1), _conv, _as_matmul),
    "softmax 4096 rows of 1024": Case(((4096, 1024),), lambda x: x.softmax(axis=1), _softmax),
    "layernorm 4096 rows of 1024": Case(
        ((4096, 1024),), lambda x: _layernorm(x), _layernorm, rtol=1e-2
    ),
}
