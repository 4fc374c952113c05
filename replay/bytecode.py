"""Byte code that does not belong to its source any more.

Python trusts a cached file while its source has the same size and the same second of change. An
edit within that second, or a tool that sets times back, leaves old code to be run. When a file was
written, though, nobody can set back.
"""

import os
from contextlib import suppress
from pathlib import Path

_CACHE = "__pycache__"


def drop_stale(package: Path) -> None:
    """Remove byte code below `package` that is not newer than what was last done to its source."""
    for directory, names, files in os.walk(package, followlinks=True):
        if _CACHE in names:
            _drop_stale_of(directory, files)
        names[:] = [name for name in names if name != _CACHE and not _is_link_up(directory, name)]


def _drop_stale_of(directory: str, files: list[str]) -> None:
    cache = os.path.join(directory, _CACHE)
    changed = {
        name.removesuffix(".py"): os.stat(os.path.join(directory, name)).st_ctime_ns
        for name in files
        if name.endswith(".py")
    }
    for entry in os.scandir(cache):
        stem = entry.name.partition(".")[0]
        if stem in changed and entry.stat().st_mtime_ns <= changed[stem]:
            with suppress(OSError):  # of a tree that is not ours to write: as Python has it
                os.unlink(entry)


def _is_link_up(directory: str, name: str) -> bool:
    """Whether a link leads to where it is, or above."""
    path = os.path.join(directory, name)
    return os.path.islink(path) and os.path.realpath(directory).startswith(os.path.realpath(path))
