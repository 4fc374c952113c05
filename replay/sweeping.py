"""The end of temporary directories whose command was killed: the next command removes them.

Only directories of the same user, under a name of ours, whose owner's lock is free: see owner.py.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from importlib import import_module

from replay.owner import PREFIX, is_abandoned


def sweep(places: Iterable[str]) -> tuple[str, ...]:
    """Remove what commands of this user left in `places`. What cannot be is told, a line each."""
    found = (each for place in dict.fromkeys(places) for each in _ours(place))
    return tuple(line for path in found if (line := _why_left(path)) is not None)


def _ours(place: str) -> Iterator[str]:
    """Directories of this user with a name of ours; links are none."""
    try:
        with os.scandir(place) as entries:
            named = sorted(entry.path for entry in entries if entry.name.startswith(PREFIX))
    except OSError:
        return  # a place that is not there
    for path in named:
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            yield path


def _why_left(path: str) -> str | None:
    """Remove a directory that its owner has left; why it is still there although it should not."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None  # it has gone, or is not for us to look into
    try:
        if not is_abandoned(directory):
            return None
    finally:
        os.close(directory)
    try:
        import_module("shutil").rmtree(path)  # follows no link; seldom needed, and not cheap
    except FileNotFoundError:
        return None  # another command was faster
    except OSError as error:
        return f"{path}: its command was killed, and it cannot be removed: {error.strerror}"
    return None
