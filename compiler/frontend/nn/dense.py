"""Layers that multiply by a matrix, or pick its rows."""

from math import sqrt

from compiler.frontend.given import require_tensors
from compiler.frontend.nn.initial import Initial, require_initial
from compiler.frontend.tensor import Tensor


class Linear:
    """x @ weight.T + bias over the last axis."""

    def __init__(self, make: Initial, inputs: int, outputs: int, *, bias: bool = True) -> None:
        require_initial("linear", make)
        self.weight, bound = make.weights((outputs, inputs))
        self.bias = make.uniform((outputs,), bound) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        require_tensors("linear", x)
        y: Tensor = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Embedding:
    """Row i of the weight for each integer i."""

    def __init__(self, make: Initial, count: int, size: int) -> None:
        require_initial("embedding", make)
        self.weight = make.uniform((count, size), sqrt(3.0))  # of variance 1

    def __call__(self, numbers: Tensor) -> Tensor:
        return self.weight.take(numbers, axis=0)
