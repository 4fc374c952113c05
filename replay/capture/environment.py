"""The environment through which a capture reaches every Python process of a program.

One variable switches capture on and names, for each capture around the process, the directory where
the capturing process listens and the corpus that records go to. PYTHONPATH leads each process to
our start-up file. Both are set by `replay capture` alone, and taken out again for our own workers.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing it would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "KERNEL_REPLAY_CAPTURE"
STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


class Capture:
    """Where a captured process finds the capturing one, and the corpus if that one is gone.

    No dataclass, as their module alone takes longer to import than all of this.
    """

    __slots__ = ("corpus", "directory")

    def __init__(self, directory: str, corpus: str) -> None:
        self.directory = directory
        self.corpus = corpus

    @property
    def socket(self) -> str:
        return os.path.join(self.directory, "socket")

    @property
    def losses(self) -> str:
        """A file that gets a line for each record that was lost."""
        return os.path.join(self.directory, "losses")


def with_capture(environ: Mapping[str, str], capture: Capture) -> dict[str, str]:
    """The environment of a program that is captured. A capture around this one goes on."""
    path = [STARTUP, *_python_path(environ)]
    around = (*captures(environ), capture)
    fields = [field for each in around for field in (each.directory, each.corpus)]
    variable = "".join(f"{len(field)}:{field}" for field in fields)  # a path may hold any letter
    return {**environ, VARIABLE: variable, "PYTHONPATH": os.pathsep.join(path)}


def captures(environ: Mapping[str, str]) -> tuple[Capture, ...]:
    """The captures that a process runs under, the outermost first."""
    fields: list[str] = []
    rest = environ.get(VARIABLE, "")
    while rest:
        length, _, rest = rest.partition(":")
        fields.append(rest[: int(length)])
        rest = rest[int(length) :]
    return tuple(map(Capture, fields[::2], fields[1::2]))


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
    return [part for part in parts if part and part != STARTUP]
