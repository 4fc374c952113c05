"""Backends: PROGRAM to source to running code. To add one: a package and a line in BACKENDS."""

import threading

from compiler.backends.base import (
    Argument,
    Backend,
    Buffer,
    Device,
    Estimates,
    Executable,
    Launch,
    Program,
    Role,
    size_value,
    storage_dtype,
)
from compiler.backends.describe import arguments_of, launch_of
from compiler.backends.llvm import BACKEND as LLVM
from compiler.backends.memory import copied
from compiler.backends.metal import BACKEND as METAL
from compiler.backends.opencl import BACKEND as OPENCL
from compiler.backends.reference import BACKEND as REFERENCE
from compiler.errors import OptionError

BACKENDS: tuple[Backend, ...] = (
    LLVM,
    OPENCL,
    METAL,
    REFERENCE,
)

_open: dict[str, Device] = {}  # devices of this process, owned by open_device
_lock = threading.Lock()


def find_backend(name: str) -> Backend:
    """The backend called `name`."""
    for backend in BACKENDS:
        if isinstance(name, str) and backend.name == name:
            return backend
    known = ", ".join(backend.name for backend in BACKENDS)
    raise OptionError(f"backend {name!r:.40} is unknown: use one of {known}")


def open_device(name: str) -> Device:
    """The device of backend `name`, opened once per process. DeviceError if there is none."""
    if isinstance(name, str) and name in _open:
        return _open[name]
    backend = find_backend(name)
    with _lock:
        if name not in _open:
            _open[name] = backend.open()
        return _open[name]


def opened_device(name: str) -> Device | None:
    """The device of backend `name` if it has been opened in this process."""
    return _open.get(name)


__all__ = [
    "BACKENDS", "Argument", "Backend", "Buffer", "Device", "Estimates", "Executable", "Launch",
    "Program", "Role", "arguments_of", "copied", "find_backend", "launch_of", "open_device",
    "opened_device", "size_value", "storage_dtype",
]  # fmt: skip
