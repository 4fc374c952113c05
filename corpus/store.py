"""The database of a corpus directory, for writing. The only place that knows diskcache.

Keys are text, values are bytes; what they mean is none of its business.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import diskcache

from corpus.baseline import Decision
from corpus.database import refuse_foreign
from corpus.directory import (
    DATABASE_NAME,
    FULL,
    GONE,
    READ_ONLY,
    has_had_database,
    held_still,
    note_database,
    note_writer,
    size_of,
    unwritable,
)
from corpus.errors import (
    DamagedCorpusError,
    ForeignCorpusError,
    FullDiskError,
    InaccessibleCorpusError,
    InvalidRecordError,
    LockedCorpusError,
    PathError,
    ReadOnlyCorpusError,
    UnreadableError,
)

_SETTINGS = {
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**62,
    "disk_min_file_size": 2**40,
    "sqlite_auto_vacuum": 0,
    "sqlite_mmap_size": 0,
    "statistics": 0,
    "tag_index": 0,
}
_PRAGMAS = (("synchronous", 1), ("cache_size", 8192), ("mmap_size", 0))
_MODE_RAW = 1
_POLL_S = 0.01
_PAUSES_S = (0.01, 0.1, 1.0)  # before a transaction is tried once more

_T = TypeVar("_T")

_REFUSALS: tuple[tuple[str, type[PathError], str], ...] = (
    ("SQLITE_BUSY", LockedCorpusError, "locked by another process for {wait_s:g} s; wait for it"),
    ("SQLITE_LOCKED", LockedCorpusError, "locked for {wait_s:g} s; wait for its other writers"),
    ("SQLITE_FULL", FullDiskError, FULL),
    ("SQLITE_IOERR_SHMSIZE", FullDiskError, FULL),
    ("SQLITE_READONLY", ReadOnlyCorpusError, READ_ONLY),
    ("SQLITE_CANTOPEN", ReadOnlyCorpusError, READ_ONLY),
    ("SQLITE_PERM", ReadOnlyCorpusError, READ_ONLY),
    ("SQLITE_CORRUPT", DamagedCorpusError, "{error}; run `replay corpus check --repair`"),
    ("SQLITE_NOTADB", DamagedCorpusError, "{error}; run `replay corpus check --repair`"),
)

# Owner: this module. Stores that a fork must find with no connection open.
_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_PAUSED: list[Store] = []
_FORK_HOOKS: list[bool] = []


class Store:
    """One connection to one corpus, for every thread; closed before a fork, opened when needed."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self.path = path
        self._wait_s = wait_s
        self._lock = threading.RLock()  # held while the connection is in use, and while forking
        self._cache = _open_cache(path, wait_s)
        self._is_open = True
        self._is_batch = False
        self._pauses_s: tuple[float, ...] = _PAUSES_S
        note_writer(path, 1)
        _survive_forks(self)

    def update(self, key: str, decide: Callable[[bytes | None], Decision]) -> Decision:
        """Look at what is under `key`, decide, store: no other writer comes between."""

        def put(cache: _SharedCache) -> Decision:
            decision = decide(cache.get(key))
            if decision.value is not None:
                cache.set(key, decision.value, retry=True)
            return decision

        return self._retried(put)

    def __len__(self) -> int:
        """Count the values."""
        return self._retried(len)

    def remove(self, key: str) -> bool:
        """Take a value out; say whether there was one."""
        return self._retried(lambda cache: bool(cache.delete(key, retry=True)))

    def begin_log(self) -> None:
        """Have a log on the medium now: the first write would else wait for it."""
        self._retried(lambda cache: cache.begin_log())

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make one transaction of many calls: all of them are undone if one fails."""
        with self._writing():
            self._is_batch = True
            try:
                yield
            finally:
                self._is_batch = False

    def close(self) -> None:
        """Let go of the corpus; the last one to do so leaves it without a log."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._cache.close()
                note_writer(self.path, -1)

    def rest(self) -> None:
        """Hold no descriptor until the next call, which opens the connection anew."""
        with self._lock:
            self._cache.close()

    def pause(self) -> None:
        """Close the connection and keep every thread from opening it, until `resume`."""
        self._lock.acquire()
        self._cache.close()

    def resume(self) -> None:
        """End a `pause`."""
        self._lock.release()

    def _retried(self, act: Callable[[_SharedCache], _T]) -> _T:
        """Run one transaction; after an error that is not known to last, again on a new connection.

        Nothing of a transaction that failed is there, so `act` may be asked again. An error that
        outlasted all pauses once is not waited for again until a transaction succeeds: a program
        under capture would pause at each of its kernels.
        """
        for pause_s in self._pauses_s:
            try:
                with self._writing() as cache:
                    return act(cache)
            except InaccessibleCorpusError:
                time.sleep(pause_s)
        self._pauses_s = ()
        with self._writing() as cache:
            done = act(cache)
        self._pauses_s = _PAUSES_S
        return done

    @contextmanager
    def _writing(self) -> Iterator[_SharedCache]:
        """Run one transaction. It waits for other writers once; a second wait is not worth it."""
        with self._lock:
            cache = self._cache
            if not self._is_open:
                raise InaccessibleCorpusError(self.path, "its writer is closed; open another")
            if self._is_batch:
                yield cache
                return
            try:
                with cache.transact():  # retry=True here would spin for ever on a full disk
                    yield cache
            except (diskcache.Timeout, sqlite3.Error) as error:
                cache.close()  # and with it whatever half a transaction is left
                refusal = _refusal(self.path, error, cache.timeout)
                cache.wait_at_most(0.0 if isinstance(refusal, LockedCorpusError) else self._wait_s)
                raise refusal from None
            cache.wait_at_most(self._wait_s)


class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Text keys and bytes values, kept inside the database; everything else is refused.

    diskcache's own Disk loads objects (CVE-2025-69872) and deletes files that a row names.
    """

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            raise InvalidRecordError(f"key {key!r}: {type(key).__name__} where text belongs")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if type(key) is not str or raw != 1:
            raise UnreadableError("key: an object, not text; nothing of it was loaded")
        return key

    def store(
        self, value: object, read: object, key: object = None
    ) -> tuple[int, int, None, bytes]:
        if type(value) is not bytes or read:
            raise InvalidRecordError(f"value: {type(value).__name__} where bytes belong")
        return 0, _MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: object) -> bytes:
        if mode != _MODE_RAW or filename is not None or type(value) is not bytes or read:
            raise UnreadableError("value: an object or a file, not bytes; nothing was loaded")
        return value

    def remove(self, _file_path: object) -> None:
        """Delete nothing: no value of ours is in a file."""


class _SharedCache(diskcache.Cache):  # type: ignore[misc]  # diskcache has no types
    """A Cache with one connection for all threads, so that it can be closed before a fork.

    A forked child that goes on with its parent's connection, or closes it, breaks the locks of
    both. diskcache keeps one connection a thread, and only that thread could close it.
    """

    _connection: sqlite3.Connection | None = None
    _timeout: float

    def __init__(self, directory: str, **settings: object) -> None:
        try:
            super().__init__(directory, **settings)
        except BaseException:
            self.close()  # what is left open would lose its locks when the next try looks around
            raise

    def wait_at_most(self, wait_s: float) -> None:
        """Set how long a transaction waits for others to end theirs."""
        if wait_s != self._timeout:
            self._timeout = wait_s
            self.close()

    def begin_log(self) -> None:
        """Write the first page as it is: this number is of no use to us, and is 0 already."""
        self._con.execute("PRAGMA user_version = 0")

    @property
    def _con(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                Path(self.directory) / DATABASE_NAME,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            for name, value in _PRAGMAS:
                self._connection.execute(f"PRAGMA {name} = {value}")
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _open_cache(path: Path, wait_s: float) -> _SharedCache:
    """Open or make the database, waiting no longer than asked; diskcache alone would wait 60 s."""
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            cache = _try_to_open_cache(path, wait_s)
        except LockedCorpusError:
            # Others who make, close or recover the database at this moment let nobody wait for it.
            if time.monotonic() >= deadline_s:
                raise
        else:
            note_database(path)
            return cache
        time.sleep(_POLL_S)


def _try_to_open_cache(path: Path, wait_s: float) -> _SharedCache:
    try:
        with held_still(path, wait_s):
            has_had_one = has_had_database(path)
        has_one = size_of(path / DATABASE_NAME) > 0 and _has_tables(path, wait_s)
        if has_had_one and not has_one:
            raise DamagedCorpusError(path, f"{GONE}; run `replay corpus check --repair`")
        return _SharedCache(str(path), timeout=wait_s, disk=BytesDisk, **_SETTINGS)
    except (diskcache.Timeout, sqlite3.Error) as error:
        raise _refusal(path, error, wait_s) from None
    except OSError as error:
        raise unwritable(path, error) from None


def _has_tables(path: Path, wait_s: float) -> bool:
    """Refuse a database whose settings diskcache would run as statements of another's choice."""
    connection = sqlite3.connect(path / DATABASE_NAME, timeout=wait_s)
    try:
        if not refuse_foreign(path, connection):
            return False
        query = "SELECT key, value FROM Settings WHERE key LIKE 'sqlite%'"
        for name, value in connection.execute(query):
            if name not in diskcache.DEFAULT_SETTINGS or not isinstance(value, int | str):
                raise ForeignCorpusError(path, f"its database has the setting {str(name)[:40]!r}")
            if isinstance(value, str) and value != "wal":
                raise ForeignCorpusError(path, f"its database sets {name} to {value[:40]!r}")
        return True
    finally:
        connection.close()


def _refusal(path: Path, error: BaseException, wait_s: float) -> PathError:
    """Say in our words why SQLite would not write; a failed rollback hides the first reason."""
    link: BaseException | None = error
    first = error
    while link is not None:
        first = link if isinstance(link, sqlite3.Error) else first
        name = getattr(link, "sqlite_errorname", "") or ""
        for prefix, kind, fact in _REFUSALS:
            if name.startswith(prefix):
                return kind(path, fact.format(error=link, wait_s=wait_s))
        link = link.__context__
    name = getattr(first, "sqlite_errorname", None) or type(first).__name__
    return InaccessibleCorpusError(path, f"{first} ({name}); check the disk it lies on")


def _survive_forks(store: Store) -> None:
    if not _FORK_HOOKS:
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
        )
        _FORK_HOOKS.append(True)
    _STORES.add(store)


def _before_fork() -> None:
    _PAUSED.extend(_STORES)
    for store in _PAUSED:
        store.pause()


def _after_fork() -> None:
    for store in _PAUSED:
        store.resume()
    _PAUSED.clear()
