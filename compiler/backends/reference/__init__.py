"""The reference: evaluates any stage with NumPy, independent of all code that compiles.

Everything but device.py imports compiler.ir and compiler.errors alone. What evaluates is imported
when it is asked for: a compile for another backend has no use for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from compiler.backends.base import Argument, Backend
from compiler.ir import Node, print_node
from compiler.target import Target

if TYPE_CHECKING:
    from compiler.backends.reference.arithmetic import numpy_dtype
    from compiler.backends.reference.bounds import NATIVE_ULP, PORTABLE_ULP
    from compiler.backends.reference.device import ReferenceDevice
    from compiler.backends.reference.evaluation import Bound, evaluate, evaluate_with_bound

_HOMES = {
    "NATIVE_ULP": "bounds",
    "PORTABLE_ULP": "bounds",
    "Bound": "evaluation",
    "evaluate": "evaluation",
    "evaluate_with_bound": "evaluation",
    "numpy_dtype": "arithmetic",
}


def render(root: Node, name: str, arguments: tuple[Argument, ...], target: Target) -> str:
    """The text of the stage, which is what runs; it has no place for a name."""
    return print_node(root)


def open_device() -> "ReferenceDevice":
    """NumPy as a device."""
    from compiler.backends.reference import device  # noqa: PLC0415  # few processes need one

    return device.ReferenceDevice()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


BACKEND = Backend("reference", render, open_device, takes_ast=True)

__all__ = [
    "BACKEND", "NATIVE_ULP", "PORTABLE_ULP", "Bound", "evaluate", "evaluate_with_bound",
    "numpy_dtype",
]  # fmt: skip
