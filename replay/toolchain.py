"""Versions of what code generation and execution depend on."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256

LIBRARIES = ("numpy", "llvmlite", "pyopencl")
_METADATA = ("dist-info", "egg-info")
_COMPARED = ("python", "machine", *LIBRARIES)  # the rest is known of open devices only


def toolchain(libraries: tuple[str, ...] = LIBRARIES) -> dict[str, str]:
    """What this process would compile and run with."""
    return toolchain_of(sys.path, platform.python_version(), os.uname().machine, libraries)


def toolchain_of(
    path: Sequence[str], python: str, machine: str, libraries: tuple[str, ...] = LIBRARIES
) -> dict[str, str]:
    """What a process would compile and run with that searches `path` for its libraries."""
    return {"python": python, "machine": machine, **_installed(tuple(path), libraries)}


@lru_cache(maxsize=64)
def _installed(path: tuple[str, ...], libraries: tuple[str, ...]) -> Mapping[str, str]:
    """Versions of libraries, read off the names of their metadata: importlib's way costs 25 ms."""
    found: dict[str, str] = {}
    origins: dict[str, tuple[str, bool]] = {}  # of each library: the first place, and if it says so
    for directory in path:
        try:
            names = sorted(os.listdir(directory or "."))
        except OSError:
            continue
        told = dict(filter(None, map(_name_and_version, names)))
        here = {name: told[name] for name in libraries if name in told}
        for name in libraries:
            if name in here:
                found.setdefault(name, here[name])
            place = os.path.join(directory, name)
            if name in names and os.path.isfile(os.path.join(place, "__init__.py")):
                origins.setdefault(name, (place, name in here))
    for name, (place, is_told) in origins.items():
        if not is_told:
            found[name] = f"{found.get(name, 'unknown')}+copy.{_digest_of(place)}"
    return {name: found[name] for name in libraries if name in found}


def _name_and_version(entry: str) -> tuple[str, str] | None:
    """What a name such as `numpy-2.0.dist-info` says, or Debian's `numpy-2.0-py3.11.egg-info`."""
    stem, dot, kind = entry.rpartition(".")
    if not dot or kind not in _METADATA:
        return None
    name, _, version = stem.partition("-")
    return name, version.partition("-py")[0]


def _digest_of(package: str) -> str:
    """Name a copy that came before the installed library: its sources, and sizes of the rest."""
    state = sha256()
    for directory, names, files in os.walk(package):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for file in sorted(files):
            path = os.path.join(directory, file)
            state.update(f"{os.path.relpath(path, package)} {os.path.getsize(path)}\n".encode())
            if file.endswith(".py"):
                with open(path, "rb") as source:
                    state.update(source.read())
    return state.hexdigest()[:12]


def differences(recorded: Counter[tuple[str, str]], here: Mapping[str, str]) -> list[str]:
    """What the records' toolchains have that is other here, said once for all records."""
    return [
        f"{count} records were captured with {name} {version}, here it is {here.get(name, 'none')}"
        for (name, version), count in sorted(recorded.items())
        if name in _COMPARED and here.get(name) != version
    ]
