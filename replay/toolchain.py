"""Versions of what code generation and execution depend on."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

LIBRARIES = ("numpy", "llvmlite", "pyopencl")
_COMPARED = ("python", "machine", *LIBRARIES)  # the rest is known of open devices only


def toolchain() -> dict[str, str]:
    """What this process would compile and run with."""
    return toolchain_of(sys.path, platform.python_version(), os.uname().machine)


def toolchain_of(path: Sequence[str], python: str, machine: str) -> dict[str, str]:
    """What a process would compile and run with that searches `path` for its libraries."""
    found = {"python": python, "machine": machine}
    for name in LIBRARIES:
        if (version := _installed(name, path)) is not None:
            found[name] = version
    return found


def _installed(name: str, path: Sequence[str]) -> str | None:
    """The version of a library, read off the name of its metadata: importlib's way costs 25 ms."""
    start, end = f"{name}-", ".dist-info"
    for directory in path:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        for entry in sorted(names):
            if entry.startswith(start) and entry.endswith(end):
                return entry[len(start) : -len(end)]
    return None


def differences(recorded: Counter[tuple[str, str]], here: Mapping[str, str]) -> list[str]:
    """What the records' toolchains have that is other here, said once for all records."""
    return [
        f"{count} records were captured with {name} {version}, here it is {here.get(name, 'none')}"
        for (name, version), count in sorted(recorded.items())
        if name in _COMPARED and here.get(name) != version
    ]
