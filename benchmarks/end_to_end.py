"""From arrays to an array, beside NumPy: `python -m benchmarks.end_to_end` prints seconds as JSON.

Each round makes new inputs, then times `Tensor(a) @ Tensor(b)` to `.numpy()`: copying, scheduling
and launching count, and no result is known before. NumPy computes the same from the same arrays in
the same round. One core, CPU time, fastest round of each.

To add a case: a function of the inputs for either side, and a line in CASES.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before NumPy's BLAS and our runtime count the cores

import numpy as np  # noqa: E402  # see the line above

from compiler import Tensor  # noqa: E402  # see above

Arrays = tuple[Any, ...]  # NumPy's or ours: both have the same operators
ROUNDS_S = 1.0  # of both sides of a case together, but
FEWEST_ROUNDS = 5


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


def main() -> None:
    """Seconds of each case, ours under its name and NumPy's beside it."""
    found: dict[str, float] = {}
    for name, case in CASES.items():
        found[name], found[f"{name}, NumPy"] = measure(name, case)
    print(json.dumps(found))


def measure(name: str, case: Case) -> tuple[float, float]:
    """The least seconds of a round, ours and NumPy's; the first two rounds compile and check."""
    spent: list[tuple[float, float]] = []
    total, number = 0.0, 0
    while number < 2 + FEWEST_ROUNDS or total < ROUNDS_S:
        arrays = _inputs(case, number)
        started = time.process_time()
        ours = case.ours(*[Tensor(array) for array in arrays]).numpy()
        between = time.process_time()
        peer = case.numpy(*arrays)
        finished = time.process_time()
        if number < 2:
            scale = float(np.abs(peer).max())
            if not np.allclose(ours, peer, rtol=case.rtol, atol=case.rtol * scale):
                raise RuntimeError(f"{name}: not what NumPy computes")
        else:
            spent.append((between - started, finished - between))
            total += finished - started
        number += 1
    return min(ours for ours, _ in spent), min(peer for _, peer in spent)


def _inputs(case: Case, number: int) -> Arrays:
    """New arrays in every round."""
    generator = np.random.default_rng(number)
    return tuple([generator.standard_normal(shape, dtype=np.float32) for shape in case.shapes])


if __name__ == "__main__":
    main()
