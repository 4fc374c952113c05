"""What lies at a path: a corpus directory, or one of the things that are not, each told apart.

A corpus is a directory with a state file and a database. The state file says that the directory is
ours and how many records could not be stored; it has one fixed length, so that the count can be
raised in place on a disk that is full. It says `corpus 0` until there is a database and `corpus 1`
from then on, so that a database that is gone is told apart from one that never was.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from corpus.errors import (
    DamagedCorpusError,
    EmptyCorpusError,
    ForeignCorpusError,
    FullDiskError,
    InaccessibleCorpusError,
    LockedCorpusError,
    MissingCorpusError,
    PathError,
    ReadOnlyCorpusError,
)
from corpus.place import url_of

DATABASE_NAME = "cache.db"
WAL_NAME = "cache.db-wal"
JOURNAL_NAME = "cache.db-journal"
STATE_NAME = "corpus.state"

FULL = "no room left on its disk; the record was not stored; free some and capture again"
GONE = "its database is gone, or was cut to nothing"
READ_ONLY = "cannot be written; give another place or change its permissions"

_STATE = "kernel-replay corpus %d\nlost %010d\n"
_STATE_FORM = re.compile(rb"kernel-replay corpus ([01])\nlost (\d{10})\n\Z")
_MAX_LOST = 10**10 - 1

# Where SQLite's lock bytes are: of the database file (pending, reserved, shared) and of the shared
# memory of its log (write, checkpoint, recover). https://sqlite.org/walformat.html
_LOCKS = ((DATABASE_NAME, 0x40000000, 512), ("cache.db-shm", 120, 3))
_POLL_S = 0.01

# Owner: corpus.store, which notes its open writers here. Closing any descriptor of a file drops all
# locks this process has on it, so nobody may open a database beside a writer of this process.
_WRITERS: dict[str, int] = {}


def require_corpus(path: Path) -> None:
    """Raise the error that says what `path` is, unless it is a corpus directory."""
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        raise MissingCorpusError(
            path, f"does not exist; make one with `replay capture --corpus {path} -- CMD`"
        ) from None
    except NotADirectoryError:
        raise ForeignCorpusError(path, "not a directory; give a corpus or an archive") from None
    except OSError as error:
        raise inaccessible(path, error) from None
    if STATE_NAME in names:
        return
    if not names:
        raise EmptyCorpusError(
            path, f"an empty directory; fill it with `replay capture --corpus {path} -- CMD`"
        )
    first = min(names)
    raise ForeignCorpusError(
        path, f"holds {first!r} but no {STATE_NAME}, so it is not a corpus; give another directory"
    )


def refuse_store(path: Path | str) -> None:
    """Raise where a place to write to is the URL of an object store."""
    if (url := url_of(path)) is not None:
        raise ForeignCorpusError(
            Path(path),
            "an object store, which is no directory to write to; name one, and push it with"
            f" `replay corpus export {url} --corpus DIR`",
        )


def make_corpus(path: Path) -> None:
    """Make `path` a corpus directory if nothing but an empty directory is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ForeignCorpusError(path, "not a directory; give one to write to") from None
    try:
        require_corpus(path)
    except EmptyCorpusError:
        _write_new_state(path)


def read_lost(path: Path) -> int:
    """Say how many records could not be stored. More than none makes a corpus incomplete."""
    _, lost = _read_state(path)
    return lost


def has_had_database(path: Path) -> bool:
    """Say whether there has been a database. Ask before looking for it: it may just be made."""
    has_had_one, _ = _read_state(path)
    return has_had_one


def note_database(path: Path) -> None:
    """Note that there is a database. Where that cannot be written, the next writer does it."""
    with suppress(OSError):
        if not has_had_database(path):
            _change_state(path, has_database=True)


def reset_state(path: Path) -> None:
    """Write a damaged state file anew, with nothing lost."""
    (path / STATE_NAME).write_bytes((_STATE % (1, 0)).encode())


def raise_lost(path: Path, count: int) -> None:
    """Add to the count of records that could not be stored; in place, it needs no room."""
    _change_state(path, lost=count)


@contextmanager
def held_still(path: Path, wait_s: float, *, exclusive: bool = False) -> Iterator[None]:
    """Keep writers of other processes out, after waiting for them; not one byte changes.

    With `exclusive`, wait until no other process has the corpus open at all.
    """
    if has_writer_here(path):
        yield
        return
    with ExitStack() as stack:
        for name, start, length in _LOCKS:
            try:
                file = stack.enter_context((path / name).open("r+b" if exclusive else "rb"))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise inaccessible(path, error) from None
            how = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            take = partial(fcntl.lockf, file, how | fcntl.LOCK_NB, length, start)
            _lock(path, wait_s, take)
        yield


def note_writer(path: Path, change: int) -> None:
    """Count an opened (1) or closed (-1) writer of this process."""
    name = os.path.realpath(path)
    _WRITERS[name] = _WRITERS.get(name, 0) + change


def has_writer_here(path: Path) -> bool:
    """Say whether this process itself writes to `path`."""
    return _WRITERS.get(os.path.realpath(path), 0) > 0


def fingerprint(path: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Tell a database apart from the same one after a write."""
    return tuple(
        fingerprint_of_file(path / name) for name in (DATABASE_NAME, WAL_NAME, JOURNAL_NAME)
    )


def fingerprint_of_file(path: Path) -> tuple[int, int, int] | None:
    """Tell a file apart from the same one after a write; None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def size_of(path: Path) -> int:
    """Give a file's size, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def inaccessible(path: Path, error: OSError) -> InaccessibleCorpusError:
    """Put what the operating system says into an error of ours."""
    reason = (error.strerror or str(error)).lower()
    return InaccessibleCorpusError(path, f"{reason}; check its owner and permissions")


def unwritable(path: Path, error: OSError) -> PathError:
    """Put why the operating system will not write into an error of ours."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return FullDiskError(path, FULL)
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return ReadOnlyCorpusError(path, READ_ONLY)
        case _:
            return inaccessible(path, error)


def _write_new_state(path: Path) -> None:
    try:
        descriptor = os.open(path / STATE_NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return
    try:
        os.write(descriptor, (_STATE % (0, 0)).encode())
    finally:
        os.close(descriptor)


def _change_state(path: Path, *, lost: int = 0, has_database: bool = False) -> None:
    descriptor = os.open(path / STATE_NAME, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        has_had_one, before = _parse_state(path, os.pread(descriptor, 4096, 0))
        now = min(max(before + lost, 0), _MAX_LOST)
        os.pwrite(descriptor, (_STATE % (has_had_one or has_database, now)).encode(), 0)
    finally:
        os.close(descriptor)


def _read_state(path: Path) -> tuple[bool, int]:
    try:
        text = (path / STATE_NAME).read_bytes()
    except OSError as error:
        raise inaccessible(path, error) from None
    return _parse_state(path, text)


def _parse_state(path: Path, text: bytes) -> tuple[bool, int]:
    """Say whether there has been a database, and how many records are lost."""
    if not text:  # its maker was interrupted between making and writing it
        return False, 0
    if (match := _STATE_FORM.match(text)) is None:
        raise DamagedCorpusError(
            path, f"its {STATE_NAME} is damaged; run `replay corpus check --repair`"
        )
    return match[1] == b"1", int(match[2])


def _lock(path: Path, wait_s: float, take: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            take()
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= deadline_s:
                raise LockedCorpusError(
                    path, f"locked by another process for {wait_s:g} s; wait for it to end"
                ) from None
            time.sleep(_POLL_S)
        else:
            return
