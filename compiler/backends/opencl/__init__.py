"""OpenCL C 1.2, built and run by whichever platform of the machine works."""

from typing import TYPE_CHECKING

from compiler.backends.base import Backend
from compiler.backends.opencl.probe import Candidate, DeviceId, list_devices, working_device
from compiler.backends.opencl.render import render

if TYPE_CHECKING:
    from compiler.backends.opencl.runtime import OpenCLDevice


def open_device(known: DeviceId | None = None) -> "OpenCLDevice":
    """The first device that works. With the `id` of a device opened before, without a new probe."""
    from compiler.backends.opencl import runtime  # noqa: PLC0415  # pyopencl costs 250 ms to import

    return runtime.open_device(known)


BACKEND = Backend("opencl", render, open_device)

__all__ = ["BACKEND", "Candidate", "DeviceId", "list_devices", "open_device", "working_device"]
