"""Versions of what code generation and execution depend on."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

LIBRARIES = ("numpy", "llvmlite", "pyopencl")
_METADATA = ".dist-info"
_COMPARED = ("python", "machine", *LIBRARIES)  # the rest is known of open devices only


def toolchain() -> dict[str, str]:
    """What this process would compile and run with."""
    return toolchain_of(sys.path, platform.python_version(), os.uname().machine)


def toolchain_of(path: Sequence[str], python: str, machine: str) -> dict[str, str]:
    """What a process would compile and run with that searches `path` for its libraries."""
    return {"python": python, "machine": machine, **_installed(tuple(path))}


@lru_cache(maxsize=64)
def _installed(path: tuple[str, ...]) -> Mapping[str, str]:
    """Versions of libraries, read off the names of their metadata: importlib's way costs 25 ms."""
    found: dict[str, str] = {}
    for directory in path:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        for entry in sorted(name for name in names if name.endswith(_METADATA)):
            name, _, version = entry.removesuffix(_METADATA).partition("-")
            if name in LIBRARIES:
                found.setdefault(name, version)
    return {name: found[name] for name in LIBRARIES if name in found}


def differences(recorded: Counter[tuple[str, str]], here: Mapping[str, str]) -> list[str]:
    """What the records' toolchains have that is other here, said once for all records."""
    return [
        f"{count} records were captured with {name} {version}, here it is {here.get(name, 'none')}"
        for (name, version), count in sorted(recorded.items())
        if name in _COMPARED and here.get(name) != version
    ]
