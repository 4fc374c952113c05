"""Versions of what code generation and execution depend on."""

import importlib.metadata
import platform
from collections import Counter
from collections.abc import Mapping

LIBRARIES = ("numpy", "llvmlite", "pyopencl")


def toolchain() -> dict[str, str]:
    """What this process would compile and run with."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def differences(recorded: Counter[tuple[str, str]], here: Mapping[str, str]) -> list[str]:
    """What the records' toolchains have that is other here, said once for all records."""
    return [
        f"{count} records were captured with {name} {version}, here it is {here.get(name, 'none')}"
        for (name, version), count in sorted(recorded.items())
        if here.get(name) != version
    ]
