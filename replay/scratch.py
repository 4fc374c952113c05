"""Temporary directories of commands. What is left of those that were killed: sweeping.py."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.owner import PREFIX, hold


@contextmanager
def scratch_directory(kind: str) -> Iterator[Path]:
    """A new directory named after what it is for, for the length of a with block."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{kind}-") as directory:
        owner = hold(directory)
        try:
            yield Path(directory)
        finally:
            if owner is not None:
                os.close(owner)
