"""Reading a corpus directory's database without changing a byte, trusting nothing in it.

A database whose log is empty is opened with `mode=ro&immutable=1`. Where a log is left (a writer
is alive, or was killed), database and log are copied to a temporary directory while writers are
held still, and SQLite recovers the copy: acknowledged records in the log count, the corpus stays
as it is. A corpus that this very process is writing is read through SQLite's own locks.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from corpus.directory import (
    DATABASE_NAME,
    GONE,
    JOURNAL_NAME,
    READ_ONLY,
    WAL_NAME,
    fingerprint,
    has_had_database,
    has_writer_here,
    held_still,
    inaccessible,
    read_lost,
    require_corpus,
    size_of,
)
from corpus.encoding import MAX_VALUE_BYTES, unseal
from corpus.errors import (
    ChangedCorpusError,
    DamagedCorpusError,
    ForeignCorpusError,
    LockedCorpusError,
    ReadOnlyCorpusError,
    UnreadableError,
)
from corpus.key import KEY_LENGTH, is_key
from corpus.record import RawItem, Unreadable

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

# All that diskcache puts in a database. Anything else could make a plain query run for ever.
_KNOWN_OBJECTS = (
    "Settings",
    "sqlite_autoindex_Settings_1",
    "Cache",
    "Cache_key_raw",
    "Cache_expire_time",
    "Cache_store_time",
    "Settings_count_insert",
    "Settings_count_delete",
    "Settings_size_insert",
    "Settings_size_update",
    "Settings_size_delete",
)
_KEY = f"CASE WHEN length(key) <= {KEY_LENGTH} THEN key ELSE substr(key, 1, {KEY_LENGTH + 1}) END"
# SQLite gives the index's key, which may be damaged; the row has one of its own.
_OWN_KEY = f"(SELECT {_KEY} FROM Cache own NOT INDEXED WHERE own.rowid = Cache.rowid)"
_ROW = (
    f"{_KEY}, {_OWN_KEY}, raw, mode, filename IS NULL, typeof(value), length(value),"
    f" CASE WHEN length(value) <= {MAX_VALUE_BYTES} THEN value END"
)
_COLUMNS = frozenset(("key", "raw", "mode", "filename", "value"))
_MODE_RAW = 1
OUT_OF_REACH = "out of reach: the database is damaged"
_ON_A_DAMAGED_PAGE = "its page of the database is damaged"
_SHOWN = 3  # findings of SQLite
REMEDY = "; run `replay corpus check --repair`, or restore it from an archive"
NO_REMEDY = ", and no whole record is found in it; restore it from an archive"
UNCOUNTED = "how many records there were is out of reach: the database is damaged"
_MOST_RECORDS = 10_000_000  # a larger count is damage itself, and each would be told
_HEADER = struct.Struct(">16x H 6x I I 60x I")  # page size, changes, pages, changes when counted


class Database:
    """The rows of a corpus directory. Use `with`, or `close` it, to drop a temporary copy."""

    def __init__(self, path: Path, wait_s: float) -> None:
        require_corpus(path)
        self.path = path
        self.lost = read_lost(path)
        self._copy: TemporaryDirectory[str] | None = None
        self._is_at_rest = False
        with held_still(path, wait_s):
            self._still = fingerprint(path)
            self._has_had_one = has_had_database(path)
            self._connection = self._open(wait_s)
        try:
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._has_rows = self._look()
            self._is_gone = self._has_had_one and not self._has_rows
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def count(self) -> int:
        """Count the records, those out of reach included; of a lost database, one."""
        if not self._has_rows:
            return int(self._is_gone)
        expected = self._expected()
        try:
            ((rows,),) = self._connection.execute("SELECT count(*) FROM Cache").fetchall()
        except sqlite3.DatabaseError:
            rows = len(self._places)
        return int(rows) + len(out_of_reach(expected, int(rows)))

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield keys in order, whole records and damaged ones alike."""
        if not self._has_rows:
            return
        where, bounds = _between(prefix)
        query = f"SELECT {_KEY} FROM Cache {where} ORDER BY key, raw"
        try:
            rows = self._connection.execute(query, bounds).fetchall()
        except sqlite3.DatabaseError:
            yield from (key for key in self._places if key.startswith(prefix))
        else:
            yield from (_shown(key) for (key,) in rows)

    def values(self, prefix: str) -> Iterator[RawItem]:
        """Yield rows in order of their keys; what is not one of our values is `Unreadable`."""
        if self._is_gone and not prefix:
            yield Unreadable("", GONE)
        if not self._has_rows:
            return
        where, bounds = _between(prefix)
        expected = self._expected()  # first: a writer of this process may add to the rows meanwhile
        count, last = 0, ""
        try:
            query = f"SELECT {_ROW} FROM Cache {where} ORDER BY key, raw"
            for row in self._connection.execute(query, bounds):
                item = _checked(row)
                count, last = count + 1, item.key if isinstance(item, Unreadable) else item[0]
                yield item
        except sqlite3.DatabaseError:
            for key, place in self._places.items():
                if key > last and key.startswith(prefix):
                    count += 1
                    yield self._value_at(place) or Unreadable(key, _ON_A_DAMAGED_PAGE)
        self._refuse_changed()
        if not prefix:
            yield from out_of_reach(expected, count)

    def value(self, key: str) -> RawItem | None:
        """Give one row, or None where there is none."""
        if not self._has_rows:
            return None
        query = f"SELECT {_ROW} FROM Cache WHERE key = ?"
        try:
            rows = self._connection.execute(query, (key,)).fetchall()
        except sqlite3.DatabaseError:
            place = self._places.get(key)
            found = None if place is None else self._value_at(place)
            return found or Unreadable(key, _ON_A_DAMAGED_PAGE)
        return _checked(rows[0]) if rows else None

    def why_damaged(self) -> tuple[str, ...]:
        """Say what SQLite's own check finds wrong with the database, nothing where it is whole."""
        if self._is_gone:
            return (GONE,)
        if self._is_at_rest and (cut := self._why_cut()) is not None:
            return (cut,)  # of which SQLite would tell page by page
        try:
            rows = self._connection.execute("PRAGMA integrity_check(20)").fetchall()
        except sqlite3.DatabaseError as error:
            return (str(error),)
        lines = [line for (text,) in rows if text != "ok" for line in str(text).splitlines()]
        found = [line for line in lines if not line.startswith("***")]  # which database: ours
        more = (f"and {len(found) - _SHOWN} findings more",) if len(found) > _SHOWN else ()
        return (*found[:_SHOWN], *more)

    def _why_cut(self) -> str | None:
        """Compare the file with the pages that its header counts: https://sqlite.org/fileformat."""
        with (self.path / DATABASE_NAME).open("rb") as file:
            head = file.read(_HEADER.size)
        page_bytes, changes, pages, counted_at = _HEADER.unpack(head.ljust(_HEADER.size, b"\0"))
        page_bytes = 65536 if page_bytes == 1 else page_bytes
        there = size_of(self.path / DATABASE_NAME) // max(1, page_bytes)
        if changes != counted_at or there >= pages:
            return None
        return f"the database is cut: {there} of its {pages} pages are there"

    def at_rest(self) -> Path | None:
        """The database, if it holds every record by itself."""
        return self.path / DATABASE_NAME if self._is_at_rest else None

    def _open(self, wait_s: float) -> sqlite3.Connection:
        database = self.path / DATABASE_NAME
        try:
            if has_writer_here(self.path):
                return _connect(database, "mode=ro", timeout_s=wait_s)
            logs = [self.path / name for name in (WAL_NAME, JOURNAL_NAME)]
            if size_of(database) == 0:
                return sqlite3.connect(":memory:")
            if not any(size_of(log) for log in logs):
                self._is_at_rest = True
                return _connect(database, "mode=ro&immutable=1", timeout_s=wait_s)
            self._copy = _copy_of([file for file in (database, *logs) if size_of(file)])
            return _connect(Path(self._copy.name) / DATABASE_NAME, "mode=rw", timeout_s=wait_s)
        except OSError as error:
            raise inaccessible(self.path, error) from None
        except sqlite3.OperationalError as error:
            raise LockedCorpusError(self.path, f"{error}; wait for its writers to end") from None

    def _look(self) -> bool:
        """Refuse what is not a corpus; of one that was cut short, keep what can be reached."""
        try:
            return refuse_foreign(self.path, self._connection)
        except DamagedCorpusError:
            # SQLite gives up at once on a file shorter than its header says, unless told this.
            self._connection.execute("PRAGMA writable_schema = ON")
            if not refuse_foreign(self.path, self._connection):
                raise
            return True

    def _refuse_changed(self) -> None:
        if self._copy is not None or has_writer_here(self.path):
            return
        if fingerprint(self.path) != self._still:
            raise ChangedCorpusError(
                self.path, "written to while it was read; read it again when capture has ended"
            )

    def _expected(self) -> int | None:
        """Give the count that triggers keep beside the rows, None where it cannot be true."""
        try:
            query = "SELECT value FROM Settings WHERE key = 'count'"
            rows = self._connection.execute(query).fetchall()
        except sqlite3.DatabaseError:
            return None
        if not rows and not self._has_had_one:
            return 0  # it is being made, or its maker was killed
        count = rows[0][0] if rows else None
        return count if isinstance(count, int) and count <= _MOST_RECORDS else None

    def _value_at(self, place: int) -> RawItem | None:
        """Give the row of this number, if its own page can be reached; the index is not asked."""
        query = f"SELECT {_ROW} FROM Cache NOT INDEXED WHERE rowid = ?"
        try:
            rows = self._connection.execute(query, (place,)).fetchall()
        except sqlite3.DatabaseError:
            return None
        return _checked(rows[0]) if rows else None

    @cached_property
    def _places(self) -> dict[str, int]:
        """The keys of a damaged database, in order, and the numbers of their rows: found by every
        way that still leads to some, index and table, from each end.

        Others than ours stay unnamed: the count of records says how many there must be.
        """
        found: dict[str, int] = {}
        for query in (
            f"SELECT {_KEY}, rowid FROM Cache ORDER BY key, raw",
            f"SELECT {_KEY}, rowid FROM Cache ORDER BY key DESC, raw DESC",
            f"SELECT {_KEY}, rowid FROM Cache NOT INDEXED ORDER BY rowid",
            f"SELECT {_KEY}, rowid FROM Cache NOT INDEXED ORDER BY rowid DESC",
        ):
            try:
                for key, place in self._connection.execute(query):
                    if is_key(_shown(key)):  # half a page reads as a whole one, of zeros
                        found[key] = place  # the table's own word for it is the later one
            except sqlite3.DatabaseError:
                continue
        return dict(sorted(found.items()))


def refuse_foreign(path: Path, connection: sqlite3.Connection) -> bool:
    """Raise unless a database holds just what a corpus does; say whether it holds a table yet."""
    rows, columns = _schema(path, connection)
    for name, kind, sql in rows:
        is_plain = kind in ("table", "index", "trigger") and "VIRTUAL" not in str(sql)[:24]
        if name not in _KNOWN_OBJECTS or not is_plain:
            raise ForeignCorpusError(
                path, f"its database holds {kind} {str(name)[:40]!r}, which no corpus does"
            )
    if columns and not columns >= _COLUMNS:
        raise ForeignCorpusError(path, "its database has other columns than a corpus has")
    return bool(columns)


def out_of_reach(expected: int | None, found: int) -> tuple[Unreadable, ...]:
    """One for each record that was not found, or one if nobody knows how many there were."""
    if expected is None or expected > _MOST_RECORDS:
        return (Unreadable("", UNCOUNTED),)
    return (Unreadable("", OUT_OF_REACH),) * (expected - found)


def _schema(
    path: Path, connection: sqlite3.Connection
) -> tuple[list[tuple[object, object, object]], set[object]]:
    """All that a database holds, and the columns of the table of records."""
    try:
        rows = connection.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
        columns = {row[1] for row in connection.execute("PRAGMA table_info(Cache)")}
        if any(name is None for name, _, _ in rows):  # SQLite reads zeros where a page was cut
            raise sqlite3.DatabaseError("its schema is cut")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # which quotes what it read
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_BUSY"):
            raise LockedCorpusError(path, f"{error}; wait for its writers to end") from None
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):  # only a writer gets here
            raise ReadOnlyCorpusError(path, READ_ONLY) from None
        raise DamagedCorpusError(path, f"its database cannot be read: {error}{REMEDY}") from None
    return rows, columns


def _copy_of(files: list[Path]) -> TemporaryDirectory[str]:
    """A directory with copies of files, which is gone when it is closed."""
    shutil, tempfile = import_module("shutil"), import_module("tempfile")  # few are copied
    directory: TemporaryDirectory[str] = tempfile.TemporaryDirectory(prefix="corpus-")
    for file in files:
        shutil.copyfile(file, Path(directory.name) / file.name)
    return directory


def _connect(file: Path, mode: str, *, timeout_s: float) -> sqlite3.Connection:
    uri = f"file:{quote(str(file.resolve()))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, check_same_thread=False)
    connection.text_factory = lambda text: text.decode(errors="backslashreplace")
    return connection


def _between(prefix: str) -> tuple[str, tuple[str, ...]]:
    if not prefix:
        return "", ()
    return "WHERE key >= ? AND key < ?", (prefix, prefix + "\U0010ffff")


def _shown(key: object) -> str:
    return key if isinstance(key, str) else repr(key)


def _checked(row: tuple[object, ...]) -> RawItem:
    key, own_key, raw, mode, is_inline, kind, length, value = row
    if key != own_key:
        return _of_two_keys(_shown(key), _shown(own_key), value)
    if not isinstance(key, str) or raw != 1:
        return Unreadable(_shown(key), "its key is an object, not text; nothing of it was loaded")
    if mode != _MODE_RAW or not is_inline or kind != "blob":
        return Unreadable(key, "its value is an object or a file, not bytes; nothing was loaded")
    if not isinstance(value, bytes):
        return Unreadable(key, f"its value has {length} bytes, {MAX_VALUE_BYTES} are allowed")
    return key, value


def _of_two_keys(key: str, own_key: str, value: object) -> Unreadable:
    """Name a row whose key is not the same in the index: by the one its value was made for."""
    try:
        unseal(key, value if isinstance(value, bytes) else b"")
    except UnreadableError:
        if not is_key(own_key):
            return Unreadable(key, "its row in the database is damaged")
        return Unreadable(own_key, f"the index of the database has it as {key!r}")
    return Unreadable(key, f"its row in the database has it as {own_key!r}")
