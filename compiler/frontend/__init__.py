"""Lazy tensors with NumPy's rules, the scheduler that cuts them into kernels, ONNX."""

from compiler.frontend import array_api, nn, optim
from compiler.frontend.jit import jit
from compiler.frontend.pinning import same_opts
from compiler.frontend.realize import compiling
from compiler.frontend.symbolic import BoundSize, Variable
from compiler.frontend.tensor import Tensor

__all__ = [
    "BoundSize", "Tensor", "Variable", "array_api", "compiling", "jit", "nn", "optim", "same_opts",
]  # fmt: skip
