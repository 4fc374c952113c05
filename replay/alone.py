"""Files that are read, changed and written anew, by one command at a time: else one loses all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Wait until no other command is in here with `directory`. It need not be writable.

    Where it cannot be opened, or its file system cannot lock, nobody waits for anybody.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield  # what is written into it next says better what is wrong
        return
    try:
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)
