"""The reference: evaluates any stage with NumPy, independent of all code that compiles.

Everything but device.py imports compiler.ir and compiler.errors alone.
"""

from compiler.backends.base import Backend
from compiler.backends.reference.arithmetic import numpy_dtype
from compiler.backends.reference.bounds import NATIVE_ULP, PORTABLE_ULP
from compiler.backends.reference.device import ReferenceDevice, render
from compiler.backends.reference.evaluate import Bound, evaluate, evaluate_with_bound

BACKEND = Backend("reference", render, ReferenceDevice, takes_ast=True)

__all__ = [
    "BACKEND", "NATIVE_ULP", "PORTABLE_ULP", "Bound", "evaluate", "evaluate_with_bound",
    "numpy_dtype",
]  # fmt: skip
