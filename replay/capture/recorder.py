"""Turns what captured processes say of their compiles into records of one corpus.

It runs in the capturing process, or, where that one is gone, in the captured one. A record is
written before its compile does any work, and completed when it has ended, so a crash or an endless
pass leaves its question. Nothing is raised; what could not be stored is counted, and noted.
"""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from corpus import Added, CorpusError, KernelRecord, PathError, Status, key_of, open_writer
from replay.capture.foreign import pass_on
from replay.capture.records import Plain, answer_of

if TYPE_CHECKING:
    from corpus import Writer


_COUNTS_AT_ONCE = 1000  # held back until then: each is a transaction


class Recorder:
    """Stores what the processes of one capture say; any thread may call it."""

    def __init__(
        self,
        corpus: Path,
        losses: Losses,
        *,
        program: int | None = None,
        is_guest: bool = False,
    ) -> None:
        self.corpus = corpus
        self.asked = 0  # questions, asked again or not
        self.added = 0  # records that were new
        self._losses = losses
        self._program = program  # its number as a process
        self._is_guest = is_guest  # of the program: it keeps nothing back, and no file open
        self._lock = threading.RLock()  # held by every call
        self._writer: Writer | None = None
        self._refusal: PathError | None = None
        self._records = 0  # in the corpus, when it was closed
        self._whole: set[str] = set()  # keys that have an answer in the corpus
        self._again: Counter[str] = Counter()  # counts that are not in the corpus yet

    def ask(self, record: KernelRecord) -> bool:
        """Store a question that is being compiled; say whether it is on disk now."""
        key = key_of(record)
        with self._at_work():
            self.asked += 1
            try:
                if key in self._whole:
                    self._open().count(key)
                else:
                    self.added += self._open().add(record) is Added.NEW
            except Exception as error:  # noqa: BLE001  # the program's own result comes first
                pass_on(error)
                self.lose(key, error)
                return False
            return True

    def answer(self, record: KernelRecord, answer: Plain) -> bool:
        """Complete what `ask` stored; say whether it is on disk now."""
        key = key_of(record)
        with self._at_work():
            if key in self._whole:
                return True
            try:
                self._open().complete(msgspec.structs.replace(record, **_ended(answer)))
            except Exception as error:  # noqa: BLE001  # the program's own result comes first
                pass_on(error)
                self.lose(key, error)
                return False
            self._whole.add(key)
            return True

    def ask_again(self, key: str) -> None:
        """Count a question that the program answered from a cache of its own."""
        with self._lock:
            self.asked += 1
            self._again[key] += 1
            if self._is_guest or sum(self._again.values()) >= _COUNTS_AT_ONCE:
                self.settle()

    def settle(self) -> None:
        """Write the counts that are still held back, in as few transactions as they allow."""
        with self._at_work():
            counts, self._again = self._again, Counter()
            try:
                writer = self._open()
                with writer.batch():
                    for key, times in sorted(counts.items()):
                        writer.count(key, times)
            except CorpusError as error:
                for key in counts:
                    self.lose(key, error)

    def leave(self, process: int) -> None:
        """Close in time if it is the program that is about to end: its end takes longer than that.

        Whoever has more to tell after it has the corpus opened once more.
        """
        if process == self._program:
            self.close()

    def open(self) -> PathError | None:
        """Open or make the corpus, ready to write; give what stands in the way."""
        with self._lock:
            try:
                writer = self._open()
            except PathError as error:
                return error
            with suppress(PathError):  # the first record will say so, if that is so still
                writer.begin_log()
            return None

    def close(self) -> int:
        """Settle, and let go of the corpus: the last to do so leaves it without a log.

        Gives the number of records that are in it.
        """
        with self._lock:
            if self._again:
                self.settle()
            if self._writer is None:
                return self._records
            try:
                self._records = len(self._writer)
            except PathError:
                self._records = self.added  # that there was no room, or no way in, is noted already
            self._writer.close()
            self._writer = None
            return self._records

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """One call. A program that closes all descriptors must find none of ours."""
        with self._lock:
            try:
                yield
            finally:
                if self._is_guest and self._writer is not None:
                    self._writer.rest()

    def _open(self) -> Writer:
        """Give the writer. What stood in its way once is not tried again for every kernel."""
        if self._refusal is not None:
            raise self._refusal
        if self._writer is None:
            try:
                self._writer = open_writer(self.corpus)
            except PathError as error:
                self._refusal = error
                raise
        return self._writer

    def lose(self, key: str, error: Exception) -> None:
        """Note that a record was not stored, and why."""
        if isinstance(error, CorpusError):
            self._losses.note(key, str(error))
            return
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"({place.name}, line {place.lineno})"
        self._losses.note(key, f"{type(error).__name__}: {error} {where}")


class Losses:
    """A file with a line for each record that was lost; every process of a capture adds to it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, key: str, reason: str) -> None:
        line = f"{key} {' '.join(reason.split())}\n"
        try:
            with open(self._path, "a", encoding="utf-8", errors="replace") as file:
                file.write(line)
        except OSError:
            pass  # then not even the loss can be noted; the corpus says how much it lacks

    def read(self) -> dict[str, str]:
        """Key to reason; a loss whose key is not known stands under a name of its own."""
        found: dict[str, str] = {}
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return {}
        for number, line in enumerate(lines):
            key, _, reason = line.partition(" ")
            found.setdefault(key if key != "-" else f"-{number}", reason)
        return found


def _ended(answer: Plain) -> dict[str, object]:
    if "error" in answer:
        return {"status": Status.FAILED, "error": answer["error"]}
    return answer_of(answer)
