"""The numbers that layers begin with: the same for the same seed, on every machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod, sqrt

import numpy as np

from compiler.errors import DeviceMemoryError, DTypeError, OptionError, ShapeError
from compiler.frontend.dtypes import DTypeLike, as_dtype, to_numpy
from compiler.frontend.shapes import as_int, as_shape
from compiler.frontend.tensor import Tensor


def require_initial(what: str, make: object) -> None:
    """Raise DTypeError, naming the layer, for what layers are not made with."""
    if not isinstance(make, Initial):
        raise DTypeError(f"{what} made by {make!r:.40}: use nn.Initial(seed) first")


class Initial:
    """Makes tensors one after the other; each has memory of its own."""

    def __init__(self, seed: int, dtype: DTypeLike = "float32", device: str = "llvm") -> None:
        self.dtype, self.device = to_numpy(as_dtype(dtype)), device
        # its raw stream is promised not to change
        if as_int(seed, "seed") < 0:
            raise OptionError(f"seed is {seed}: use 0 or more")
        self._bits = np.random.PCG64(as_int(seed, "seed"))

    def uniform(self, shape: Sequence[int], bound: float) -> Tensor:
        """Numbers between -bound and bound."""
        sizes = as_shape(shape)
        with _fitting(sizes):
            raw = self._bits.random_raw(prod(sizes)) >> np.uint64(11)
            numbers = (raw * 2.0**-53 * 2 - 1) * bound
            array = numbers.reshape(sizes).astype(self.dtype)
        return Tensor(array, device=self.device)

    def weights(self, shape: Sequence[int]) -> tuple[Tensor, float]:
        """Numbers for what sums over all axes but the first, and their bound: 1 / root of terms."""
        terms = prod(as_shape(shape)[1:])
        if terms < 1:
            raise ShapeError(f"weights of shape {tuple(shape)}: sum over nothing")
        bound = 1 / sqrt(terms)
        return self.uniform(shape, bound), bound

    def full(self, shape: Sequence[int], number: float) -> Tensor:
        """One number everywhere."""
        sizes = as_shape(shape)
        with _fitting(sizes):
            array = np.full(sizes, number, self.dtype)
        return Tensor(array, device=self.device)


@contextmanager
def _fitting(sizes: Sequence[int]) -> Iterator[None]:
    """Say in our words that NumPy can make no array of these sizes."""
    try:
        yield
    except (OverflowError, ValueError):
        raise ShapeError(f"weights of shape {tuple(sizes)}: are too big") from None
    except MemoryError:
        raise DeviceMemoryError(f"weights of shape {tuple(sizes)}: do not fit in memory") from None
