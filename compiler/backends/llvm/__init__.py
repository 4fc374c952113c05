"""LLVM IR for the host's CPU, compiled and run in this process."""

from typing import TYPE_CHECKING

from compiler.backends.base import Backend
from compiler.backends.llvm.render import render

if TYPE_CHECKING:
    from compiler.backends.llvm.runtime import HostDevice


def open_device(threads: int | None = None) -> "HostDevice":
    """The host's CPU as a device; a kernel uses at most `threads` cores, by default all."""
    from compiler.backends.llvm import runtime  # noqa: PLC0415  # llvmlite costs 50 ms to import

    return runtime.open_device(threads)


BACKEND = Backend("llvm", render, open_device)

__all__ = ["BACKEND", "open_device"]
