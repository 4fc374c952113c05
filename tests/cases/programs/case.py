"""What a case is: inputs, a program of tensors, and the answer by NumPy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler import Tensor


@dataclass(frozen=True)
class Case:
    """One program that other compilers got wrong. `schedules` name opts beside none and default."""

    name: str
    inputs: Callable[[], Mapping[str, np.ndarray]]
    program: Callable[..., Sequence[Tensor]]
    expected: Callable[..., Sequence[np.ndarray]]
    rtol: float = 0.0
    atol: float = 0.0
    of_outputs: tuple[tuple[float, float], ...] = ()  # (rtol, atol) of each, where they differ
    schedules: tuple[str, ...] = ()
    constants: bool = False  # run it again with the inputs as constants of the kernels

    def tolerance(self, index: int) -> tuple[float, float]:
        """The rtol and the atol of an output."""
        return self.of_outputs[index] if self.of_outputs else (self.rtol, self.atol)


def as_constants(array, device):
    """The array as a tensor without memory: every element is a constant in the graph."""
    dtype = array.dtype
    flat = [Tensor.full((1,), value.item(), dtype=dtype, device=device) for value in array.ravel()]
    return Tensor.concat(flat).reshape(array.shape)
