"""Metal Shading Language 3.2, for Apple's GPUs. Kernels are made for them, and run on none here."""

from compiler.backends.base import Backend, Device
from compiler.backends.metal.render import render
from compiler.errors import DeviceError


def open_device() -> Device:
    """There is none: Apple's drivers are reached from Swift, Objective-C and C++ alone."""
    raise DeviceError("metal: kernels are compiled and compared, not run: there is no driver here")


BACKEND = Backend("metal", render, open_device)

__all__ = ["BACKEND"]
