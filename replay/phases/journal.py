"""What a replay has found so far, on disk: an interrupted one goes on where it ended.

A journal is a file of frames that is only appended to: first who wrote it (a digest of all that its
results depend on), then results, each with the phase that found it and the digest of its record. A
frame that was cut short ends it. It is removed when its replay has come to its end.
"""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cached_property
from pathlib import Path

import msgspec

from replay.artefact import Artefact
from replay.isolation.wire import frame, take_frame
from replay.outcome import Result

_FORM = 1
_FLUSH_EVERY_S = 0.5  # a replay that is killed loses so much


class Phase(Enum):
    """What was done with a record; a later one replaces the result of an earlier one."""

    COMPILED = "compiled"
    AGAIN = "again"
    RUN = "run"


class _Head(msgspec.Struct, frozen=True):
    form: int
    identity: str


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One result, of the record that has this digest."""

    phase: Phase
    digest: bytes
    result: Result
    old: Artefact | str | None = None  # what an older compiler answered, or why it could not


_decode_head = msgspec.msgpack.Decoder(_Head).decode
_decode_entry = msgspec.msgpack.Decoder(Entry).decode


class Journal:
    """The journal of one replay, which owns it. Where it cannot be written, nothing is kept.

    `identity` is asked for when there is something to read or to write: it costs some milliseconds,
    and most replays have nothing to compile.
    """

    def __init__(self, path: Path, identity: Callable[[], str], *, resumes: bool) -> None:
        self._path = path
        self._identity = identity
        self._resumes = resumes
        self._unsent = bytearray()
        self._descriptor: int | None = None
        self._is_open = False
        self._flushed_s = 0.0

    @cached_property
    def _found(self) -> dict[tuple[Phase, str], Entry]:
        """What an interrupted replay has left."""
        return _read(self._path, self._identity()) if self._resumes else {}

    def find(self, phase: Phase, key: str, digest: bytes) -> Entry | None:
        """What `phase` of an earlier replay found of this very record."""
        entry = self._found.get((phase, key))
        return None if entry is None or entry.digest != digest else entry

    def note(self, entry: Entry) -> None:
        """Keep a result."""
        self._unsent += frame(entry)
        if not self._is_open or time.monotonic() > self._flushed_s + _FLUSH_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Write what is kept. A full disk costs an interrupted replay its results, no more."""
        if not self._is_open:
            self._open()
        self._flushed_s = time.monotonic()
        while self._unsent and self._descriptor is not None:
            try:
                del self._unsent[: os.write(self._descriptor, self._unsent)]
            except OSError:
                self._close()
        self._unsent.clear()

    def end(self, *, is_finished: bool) -> None:
        """Keep the file for the next replay, or remove it, as there is nothing left to do."""
        if self._unsent:
            self.flush()
        if is_finished and (self._descriptor is not None or self._resumes):
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        self._close()

    def _open(self) -> None:
        """Begin the file anew, with all that was found in it."""
        self._is_open = True
        before = self._found
        self._descriptor = _open(self._path)
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            frames = [frame(_Head(_FORM, self._identity())), *map(frame, before.values())]
            self._unsent[:0] = b"".join(frames)

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _open(path: Path) -> int | None:
    """Open and lock the file; None where that cannot be, or another replay has it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _read(path: Path, identity: str) -> dict[tuple[Phase, str], Entry]:
    found: dict[tuple[Phase, str], Entry] = {}
    try:
        buffer = bytearray(path.read_bytes())
        head = take_frame(buffer)
        if head is None or _decode_head(head) != _Head(_FORM, identity):
            return {}
        while (body := take_frame(buffer)) is not None:
            entry = _decode_entry(body)
            found[entry.phase, entry.result.key] = entry
    except (OSError, msgspec.MsgspecError, ValueError):
        return found  # there is none, it was cut short, or another version wrote it
    return found
