"""Where in a program a kernel was asked for, without a path of the machine it ran on."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from types import FrameType

import compiler
import replay

_OURS = tuple(
    os.path.join(os.path.dirname(os.path.abspath(file)), "")
    for file in (compiler.__file__ or "", replay.__file__)
)
_SITES = ("site-packages", "dist-packages")
_MAX_DEPTH = 64  # of directories that are searched for a repository


def call_site(frame: FrameType | None) -> tuple[str | None, str | None]:
    """The nearest frame that is not the compiler's or ours, as `FILE:LINE FUNCTION`, and what it
    called of the compiler, as `numpy`.
    """
    called = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_OURS):
            called = code.co_name.lstrip("_")
        elif not code.co_filename.startswith("<"):
            return f"{_place(code.co_filename)}:{frame.f_lineno} {code.co_name}", called
        frame = frame.f_back
    return None, called


@lru_cache(maxsize=1024)
def _place(file: str) -> str:
    """A file from where it is the same on other machines: its repository, or where it starts."""
    file = os.path.abspath(file)
    sites = [path for path in sys.path if os.path.basename(path) in _SITES]
    for root in (*sites, _repository(file), _directory(), *sys.path):
        if root and file.startswith(os.path.join(root, "")):
            return os.path.relpath(file, root)
    return os.path.basename(file)


def _repository(file: str) -> str:
    above = os.path.dirname(file)
    for _ in range(_MAX_DEPTH):
        if os.path.exists(os.path.join(above, ".git")):
            return above
        above = os.path.dirname(above)
    return ""


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it has been removed
