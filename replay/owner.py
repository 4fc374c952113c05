"""Whose a temporary directory is: a locked file in it, whose lock ends with the process.

A number of a process would be another's after a while, and another machine's or container's from
the start. This imports modules written in C alone, as a capture makes its directory with it before
anything else (see launch.py).
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock

PREFIX = "replay-"  # of the names of all of them
OWNER = ".replay-owner"


def hold(directory: str) -> int | None:
    """Say that `directory` is in use until the descriptor is closed, by us or by our end.

    None where the file system cannot lock: nobody will sweep the directory then.
    """
    path = os.path.join(directory, OWNER)
    draft = f"{path}.new"  # nobody may see a file that is not locked yet
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        os.write(descriptor, f"process {os.getpid()}\n".encode())
        os.rename(draft, path)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_abandoned(directory: int) -> bool:
    """Whether the open directory was held, and no longer is: its owner has ended.

    The lock is given back at once; a directory that has no owner is not held again by anyone.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(OWNER, flags, dir_fd=directory)
    except OSError:
        return False
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except OSError:
        return False  # it is held, or nothing can be said
    finally:
        os.close(descriptor)
    return True
