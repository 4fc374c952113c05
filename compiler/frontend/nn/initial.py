"""The numbers that layers begin with: the same for the same seed, on every machine."""

from collections.abc import Sequence
from math import prod

import numpy as np

from compiler.frontend.dtypes import DTypeLike, as_dtype, to_numpy
from compiler.frontend.tensor import Tensor


class Initial:
    """Makes tensors one after the other; each has memory of its own."""

    def __init__(self, seed: int, dtype: DTypeLike = "float32", device: str = "llvm") -> None:
        self.dtype, self.device = to_numpy(as_dtype(dtype)), device
        self._bits = np.random.PCG64(seed)  # its raw stream is promised not to change

    def uniform(self, shape: Sequence[int], bound: float) -> Tensor:
        """Numbers between -bound and bound."""
        raw = self._bits.random_raw(prod(shape)) >> np.uint64(11)
        numbers = (raw * 2.0**-53 * 2 - 1) * bound
        return Tensor(numbers.reshape(shape).astype(self.dtype), device=self.device)

    def full(self, shape: Sequence[int], number: float) -> Tensor:
        """One number everywhere."""
        return Tensor(np.full(shape, number, self.dtype), device=self.device)
