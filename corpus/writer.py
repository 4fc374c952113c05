"""Writing records to a corpus directory.

A record is durable when a call returns: a committed write survives kill -9 of any process. A loss
of power may take the writes of the last moments (SQLite's log is not synchronised at every commit),
but never damages older ones.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from corpus import baseline
from corpus.baseline import Added, Decision
from corpus.directory import make_corpus, raise_lost, refuse_store, unwritable
from corpus.encoding import encode_record
from corpus.errors import InvalidRecordError, PathError, UnreadableError
from corpus.record import KernelRecord
from corpus.store import Store


class Writer:
    """Puts records into one corpus; threads may share it, forked children go on with it.

    What cannot be stored raises, and is counted: in `lost`, and in the corpus itself where even
    that is still possible.
    """

    def __init__(self, path: Path, wait_s: float) -> None:
        self.path = path
        self._store = Store(path, wait_s)
        self._unstored: set[str] = set()

    @property
    def lost(self) -> int:
        """How many records this writer was given and could not store."""
        return len(self._unstored)

    def __len__(self) -> int:
        """Count the records in the corpus."""
        return len(self._store)

    def add(self, record: KernelRecord) -> Added:
        """Store what was asked. Asked before, only its count goes up: the first answer stays."""
        key, value = self._encoded(record)
        return self.update(key, lambda old: baseline.ask(key, old, value)).added

    def complete(self, record: KernelRecord) -> Added:
        """Store how a started compile ended. Its asking has been counted by `add` already."""
        key, value = self._encoded(record)
        return self.update(key, lambda old: baseline.complete(key, old, value)).added

    def replace(self, record: KernelRecord) -> None:
        """Store a record in place of whatever is under its key: a deliberate new baseline."""
        key, value = self._encoded(record)
        self.update(key, lambda _: Decision(Added.REPLACED, value))

    def count(self, key: str, times: int = 1) -> None:
        """Raise the count of a record that is there, as where a cached kernel is used again."""
        self.update(key, lambda old: baseline.count(key, old, times))

    def update(self, key: str, decide: Callable[[bytes | None], Decision]) -> Decision:
        """Look at what is under `key`, decide, store: no other writer comes between."""
        try:
            decision = self._store.update(key, decide)
        except (PathError, UnreadableError):
            self._note_unstored(key)
            raise
        if key in self._unstored:
            self._unstored.discard(key)
            self._raise_lost(-1)
        return decision

    def batch(self) -> AbstractContextManager[None]:
        """Make one transaction of many calls: faster, but all of them are undone if one fails."""
        return self._store.batch()

    def begin_log(self) -> None:
        """Have a log on the medium now: the first write would else wait for it."""
        self._store.begin_log()

    def remove(self, key: str) -> bool:
        """Take a record out; say whether there was one."""
        return self._store.remove(key)

    def note_lost(self, count: int = 1) -> None:
        """Mark the corpus as incomplete for records that never reached this writer."""
        try:
            raise_lost(self.path, count)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def rest(self) -> None:
        """Hold no descriptor until the next call: whoever closes all that there are may do so."""
        self._store.rest()

    def close(self) -> None:
        """Let go of the corpus; the last writer to do so leaves it without a log."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _encoded(self, record: KernelRecord) -> tuple[str, bytes]:
        try:
            return encode_record(record)
        except InvalidRecordError:
            self._note_unstored(f"invalid {len(self._unstored)}")
            raise

    def _note_unstored(self, key: str) -> None:
        if key not in self._unstored:
            self._unstored.add(key)
            self._raise_lost(1)

    def _raise_lost(self, change: int) -> None:
        with suppress(OSError, PathError):  # the caller hears of the record's loss in any case
            raise_lost(self.path, change)


def open_writer(path: Path | str, *, wait_s: float = 30.0) -> Writer:
    """Open a corpus directory for writing; make it where nothing or an empty directory is."""
    refuse_store(path)
    path = Path(path).absolute()
    try:
        make_corpus(path)
    except OSError as error:
        raise unwritable(path, error) from None
    return Writer(path, wait_s)
