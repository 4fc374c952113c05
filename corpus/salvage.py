"""Finding whole records in a damaged database without SQLite, which gives up at one wrong byte.

The files are read page by page (https://sqlite.org/fileformat2.html), and whatever looks like a row
of ours is taken if the checksum of its value says that it is one. Nothing else is trusted: no page
number, count or length leads to more work than a fixed multiple of the bytes that are there.

Which page is older hardly matters, as a value is complete by itself: no other page could make it
more or less true. Pages of the log come before the database, later ones first, so that of several
whole values of one key the last that was written is found first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from corpus.directory import DATABASE_NAME, WAL_NAME, inaccessible, size_of
from corpus.encoding import MAX_VALUE_BYTES, VALUE_MAGIC, decode_record
from corpus.errors import InvalidRecordError, UnreadableError
from corpus.key import KEY_LENGTH, is_key

_DEFAULT_BYTES = 4096
_PAGE_BYTES = tuple(1 << power for power in range(9, 17))
_TABLE_LEAF = 13
_LEAF_HEADER_BYTES = 8
_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_SALT = slice(8, 16)
_WAL_SALT = slice(16, 24)
_TRUNK = slice(32, 36)
_FREE = slice(36, 40)
_SAMPLE_BYTES = 4 << 20  # are enough to tell the size of a page
_MOST_TAKEN = 8  # times the bytes that are there: rows that share pages would cost squares

# How the header of a row of diskcache's table begins: no rowid (it is outside), a text of 64 bytes,
# raw is 1. Of its settings a row begins with the text "count", and a number is what follows.
_ROW = re.compile(b"\x00\x81\x0d\x09")
_COUNT = re.compile(rb"\x03\x17([\x01-\x06\x08\x09])count")
_FIRST = (0, 13 + 2 * KEY_LENGTH, 9)
_COLUMNS, _MODE, _FILENAME, _VALUE = 12, 9, 10, 11
_NULL, _ONE = 0, 9
_BYTES_OF = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)  # by serial type; from 12 on they tell it

_File = tuple[BinaryIO, int]  # and how many bytes it has
_Place = tuple[BinaryIO, int]  # and where a page begins in it


@dataclass(slots=True)
class _Pages:
    """The pages of both files, if they have this size. Its owner is one salvage: `left` shrinks."""

    size: int
    database: _File
    places: tuple[_Place, ...]  # newest first
    newest: Mapping[int, _Place]  # of the log, by page number
    left: int  # bytes that may still be taken

    def read(self, place: _Place) -> bytes:
        """Give a page; one that the end of its file cuts goes on with zeros."""
        return _read(*place, self.size).ljust(self.size, b"\0")

    def numbered(self, number: int, log: Mapping[int, _Place]) -> bytes | None:
        """Give a page by its number: of the log if that has it, else of the database."""
        file, end = self.database
        offset = (number - 1) * self.size
        if number not in log and not 0 <= offset < end:
            return None
        return self.read(log.get(number, (file, offset)))


def salvaged_values(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and value of every whole record that is in the files, each key once."""
    found: set[str] = set()
    with _opened(path) as pages:
        for key, value in _whole(pages, found):
            found.add(key)
            yield key, value


def salvaged_count(path: Path) -> int | None:
    """Give the count of records that the database keeps, None where it is not found."""
    with _opened(path) as pages:
        for page, starts in _cells(pages):
            for start in starts:
                if (match := _COUNT.match(page, start)) is not None:
                    return _number(match[1][0], page[match.end() :])
    return None


@contextmanager
def _opened(path: Path) -> Iterator[_Pages]:
    """Find the pages. The header tells their size, but may be damaged: the pages are asked."""
    with ExitStack() as stack:
        try:
            files = []
            for name in (DATABASE_NAME, WAL_NAME):
                size = size_of(path / name)
                files.append(
                    (stack.enter_context((path / name).open("rb")) if size else BytesIO(), size)
                )
            database, log = files
            sizes = dict.fromkeys((*_told(database, log), _DEFAULT_BYTES, *_PAGE_BYTES))
            # Of sizes that fit equally well the first is taken.
            yield max((_with_size(size, database, log) for size in sizes), key=_leaves)
        except OSError as error:
            raise inaccessible(path, error) from None


def _told(database: _File, log: _File) -> Iterator[int]:
    """Yield what the headers of the files say that a page has, if a page can have it."""
    for (file, _), where in ((database, slice(16, 18)), (log, slice(8, 12))):
        told = int.from_bytes(_read(file, 0, _WAL_HEADER_BYTES)[where])
        told = 1 << 16 if told == 1 else told  # which two bytes cannot hold
        if told in _PAGE_BYTES:
            yield told


def _with_size(size: int, database: _File, log: _File) -> _Pages:
    """List the pages. What a log holds from before it was begun anew is older than all else."""
    frames, stale = _frames(size, *log)
    newest: dict[int, _Place] = {}
    for number, place in frames:
        newest.setdefault(number, place)
    file, end = database
    unused = _unused(size, database)
    numbered = enumerate(range(0, end, size), 1)
    plain = ((file, offset) for number, offset in numbered if number not in unused)
    places = (*(place for _, place in frames), *plain, *(place for _, place in stale))
    return _Pages(size, database, places, newest, _MOST_TAKEN * (end + log[1]))


_Frames = list[tuple[int, _Place]]


def _frames(size: int, log: BinaryIO, end: int) -> tuple[_Frames, _Frames]:
    """Give the page numbers and places of a log, later ones first, and those of an older log.

    A log that is begun anew gets a new salt and is written over the old one, whose rest stays. The
    salt is in its header and in each frame: one of two is whole, if but one byte is wrong.
    """
    salts = {_read(log, 0, _WAL_HEADER_BYTES)[_WAL_SALT]}
    frames: _Frames = []
    stale: _Frames = []
    for offset in range(_WAL_HEADER_BYTES, end - _FRAME_HEADER_BYTES, size + _FRAME_HEADER_BYTES):
        header = _read(log, offset, _FRAME_HEADER_BYTES)
        if not frames:
            salts.add(header[_SALT])
        kind = frames if header[_SALT] in salts else stale
        kind.append((int.from_bytes(header[:4]), (log, offset + _FRAME_HEADER_BYTES)))
    return frames[::-1], stale[::-1]


def _unused(size: int, database: _File) -> set[int]:
    """Give the pages that are in no use: what they hold was removed, or is elsewhere by now.

    No page if anything of their list is wrong: it could name some that are in use.
    """
    file, end = database
    head = _read(file, 0, _FREE.stop)
    trunk, count = int.from_bytes(head[_TRUNK]), int.from_bytes(head[_FREE])
    unused: set[int] = set()
    while trunk and trunk not in unused and trunk * size <= end:
        unused.add(trunk)
        page = _read(file, (trunk - 1) * size, size)
        leaves = int.from_bytes(page[4:8])
        unused.update(_numbers(page[8 : 8 + 4 * leaves]))
        trunk = int.from_bytes(page[:4])
    return unused if not trunk and len(unused) == count else set()


def _numbers(run: bytes) -> Iterator[int]:
    return (int.from_bytes(run[at : at + 4]) for at in range(0, len(run), 4))


def _leaves(pages: _Pages) -> int:
    """Count the table leaves among the first pages, if pages have this size."""
    sample = pages.places[: _SAMPLE_BYTES // pages.size]
    return sum(bool(_listed(pages.read(place))) for place in sample)


def _whole(pages: _Pages, found: Set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield whole records other than those `found` by then.

    Pages whose own list of cells holds together go first, and nothing else is looked for in them:
    between their cells lies what was removed. In others every place may be a row.
    """
    for page, starts in _cells(pages):
        yield from _taken(pages, page, starts, found)
    for place in pages.places:
        page = pages.read(place)
        if _listed(page) is None:
            starts = tuple(match.start() - 1 for match in _ROW.finditer(page, 1))
            yield from _taken(pages, page, starts, found)


def _cells(pages: _Pages) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """Yield the table leaves that hold together, with where their rows start."""
    for place in pages.places:
        page = pages.read(place)
        if starts := _listed(page):
            yield page, starts


def _listed(page: bytes) -> tuple[int, ...] | None:
    """Give where the rows of a table leaf start, None for other pages and damaged ones.

    The header of the first page lies elsewhere, but that is a leaf of the schema, or no leaf.
    """
    first = _LEAF_HEADER_BYTES + 2 * int.from_bytes(page[3:5])
    if page[0] != _TABLE_LEAF or first > len(page):
        return None
    starts = []
    used = 0
    for at in range(_LEAF_HEADER_BYTES, first, 2):
        offset = int.from_bytes(page[at : at + 2])
        length, start = _varint(page, offset)
        _, start = _varint(page, start)
        row = _row(page, start)
        if row is None or row.size != length:
            return None
        local = _local_bytes(length, len(page))
        used += start - offset + local + (4 if local < length else 0)
        starts.append(start)
    is_whole = used + _free_bytes(page, first) == len(page) and len(set(starts)) == len(starts)
    return tuple(starts) if is_whole else None


def _free_bytes(page: bytes, first: int) -> int:
    """Add up all of a leaf but its cells: header, gap, free blocks, fragments."""
    content = int.from_bytes(page[5:7]) or len(page)
    free = max(content, first) + page[7]
    last, block = 0, int.from_bytes(page[1:3])
    while last < block:  # in the order of the page, so there is an end
        free += int.from_bytes(page[block + 2 : block + 4])
        last, block = block, int.from_bytes(page[block : block + 2])
    return free


class _Row(NamedTuple):
    kinds: tuple[int, ...]  # serial types
    header_bytes: int
    size: int  # with its header, as its cell should say


def _row(page: bytes, start: int) -> _Row | None:
    """Read the header of the row at `start`."""
    end = start + page[start] if start < len(page) else 0  # ours are shorter than a varint's byte
    _, at = _varint(page, start)
    kinds: list[int] = []
    while at < end <= len(page) and len(kinds) <= _COLUMNS:
        kind, at = _varint(page, at)
        kinds.append(kind)
    if at != end:
        return None
    return _Row(tuple(kinds), end - start, end - start + sum(map(_bytes_of, kinds)))


def _bytes_of(kind: int) -> int:
    return _BYTES_OF[kind] if kind < len(_BYTES_OF) else (kind - len(_BYTES_OF)) // 2


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Read a number of up to nine bytes and say where it ends; past the page it is zero."""
    number = 0
    for end, byte in enumerate(page[at : at + 8], at + 1):
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, end
    last = page[at + 8 : at + 9]
    return number << 8 | int.from_bytes(last), at + 9


def _number(kind: int, rest: bytes) -> int:
    if _bytes_of(kind) == 0:
        return int(kind == _ONE)
    return int.from_bytes(rest[: _bytes_of(kind)], signed=True)


def _taken(
    pages: _Pages, page: bytes, starts: Iterable[int], found: Set[str]
) -> Iterator[tuple[str, bytes]]:
    for start in starts:
        row = _row(page, start)
        if row is None or (size := _value_bytes(row)) is None or pages.left <= 0:
            continue
        key = _key(page, start + row.header_bytes)
        if not is_key(key) or key in found:
            continue
        for log in (pages.newest, {}):  # what the log has may be half of a change
            value = _payload(pages, page[start:], row.size, log)[row.size - size :]
            if _is_whole(key, value):
                yield key, value
                break


def _key(page: bytes, at: int) -> str:
    return page[at : at + KEY_LENGTH].decode("latin-1")


def _value_bytes(row: _Row) -> int | None:
    """Give the length of the value if this is a row of ours: bytes under a text, in no file."""
    kinds = row.kinds
    if len(kinds) != _COLUMNS or kinds[: len(_FIRST)] != _FIRST:
        return None
    if (kinds[_MODE], kinds[_FILENAME], kinds[_VALUE] % 2) != (_ONE, _NULL, 0):
        return None
    size = _bytes_of(kinds[_VALUE])
    return size if kinds[_VALUE] >= len(_BYTES_OF) and size <= MAX_VALUE_BYTES else None


def _payload(pages: _Pages, rest: bytes, size: int, log: Mapping[int, _Place]) -> bytes:
    """Put together a row from its page and those that it flows over to, or what there is of it."""
    local = _local_bytes(size, pages.size)
    parts = [rest[:local]]
    following = rest[local : local + 4]
    missing = size - local
    while missing > 0 and pages.left > 0:
        page = pages.numbered(int.from_bytes(following), log)
        if page is None:
            break
        parts.append(page[4 : 4 + missing])
        following = page[:4]
        missing -= pages.size - 4
        pages.left -= pages.size
    pages.left -= len(rest[:local])
    return b"".join(parts)


def _local_bytes(size: int, page_bytes: int) -> int:
    """Say how much of a row is in its leaf. Nothing is reserved at the end of our pages."""
    most = page_bytes - 35
    if size <= most:
        return size
    least = (page_bytes - 12) * 32 // 255 - 23
    local = least + (size - least) % (page_bytes - 4)
    return local if local <= most else least


def _is_whole(key: str, value: bytes) -> bool:
    if not value.startswith(VALUE_MAGIC):
        return False
    try:
        decode_record(key, value)
    except (UnreadableError, InvalidRecordError):
        return False
    return True


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
