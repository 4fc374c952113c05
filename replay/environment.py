"""The environment through which a capture reaches every Python process of a program.

One variable switches capture on and says all that a process must know; PYTHONPATH leads each
process to our start-up file. Both are set by `replay capture` alone, and taken out again for our
own workers.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

VARIABLE = "KERNEL_REPLAY_CAPTURE"
STARTUP = Path(__file__).resolve().parent / "startup"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a captured process is told. `losses` is a file that gets a line for each loss."""

    corpus: str
    losses: str
    root: str  # where `replay` and `corpus` are, for programs that do not have them installed
    revision: str | None = None
    is_dirty: bool | None = None
    revision_of: str | None = None  # the directory whose revision that is


def with_capture(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The environment of a program that is captured. A capture around this one goes on."""
    path = [str(STARTUP), *_python_path(environ)]
    variable = msgspec.json.encode([*captures(environ), settings]).decode()
    return {**environ, VARIABLE: variable, "PYTHONPATH": os.pathsep.join(path)}


def captures(environ: Mapping[str, str]) -> tuple[Settings, ...]:
    """The captures that a process runs under, the outermost first."""
    return msgspec.json.decode(environ.get(VARIABLE, "[]"), type=tuple[Settings, ...])


def without_capture(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is not captured, whoever started it."""
    left = {name: value for name, value in environ.items() if name != VARIABLE}
    path = _python_path(environ)
    if path:
        left["PYTHONPATH"] = os.pathsep.join(path)
    else:
        left.pop("PYTHONPATH", None)
    return left


def _python_path(environ: Mapping[str, str]) -> list[str]:
    parts = environ.get("PYTHONPATH", "").split(os.pathsep)
    return [part for part in parts if part and part != str(STARTUP)]
