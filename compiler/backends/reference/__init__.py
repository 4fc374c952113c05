"""The reference: evaluates any stage with NumPy, independent of all code that compiles."""

from compiler.backends.reference.arithmetic import numpy_dtype
from compiler.backends.reference.evaluate import evaluate

__all__ = ["evaluate", "numpy_dtype"]
