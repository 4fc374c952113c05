"""A small convolutional network, for where the demo's real model is missing."""

import sys
from collections.abc import Sequence

import numpy as np

from compiler import Tensor

_SEED = 7


def main(arguments: Sequence[str]) -> int:
    """Run the network once, on the device that the first argument names."""
    device = arguments[0] if arguments else "llvm"
    numbers = np.random.default_rng(_SEED)

    def tensor(*shape: int) -> Tensor:
        return Tensor(numbers.standard_normal(shape).astype(np.float32), device=device)

    def layer(x: Tensor, channels: int) -> Tensor:
        weight, bias = tensor(channels, x.shape[1], 3, 3), tensor(channels)
        return x.conv(weight, bias, padding=1).relu()  # type: ignore[arg-type]  # takes tensors

    x = layer(tensor(1, 1, 48, 64), 16).max_pool(2)
    x = layer(layer(x, 32).max_pool(2), 32)
    scores = x.max(axis=(2, 3)) @ tensor(32, 10)
    sys.stdout.write(f"scores {scores.numpy().dtype}{list(scores.shape)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
