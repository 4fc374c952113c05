"""Reading a corpus, whatever it is kept in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from corpus.database import Database
from corpus.directory import fingerprint_of_file, inaccessible
from corpus.encoding import decode_record
from corpus.errors import (
    DamagedCorpusError,
    EmptyCorpusError,
    ForeignCorpusError,
    UnreadableError,
)
from corpus.place import url_of
from corpus.record import Item, RawItem, Stored, Unreadable


class Source(Protocol):
    """What a Reader reads: rows in order of their keys, each either bytes or `Unreadable`."""

    path: Path
    lost: int

    def count(self) -> int: ...
    def keys(self, prefix: str) -> Iterator[str]: ...
    def values(self, prefix: str) -> Iterator[RawItem]: ...
    def value(self, key: str) -> RawItem | None: ...
    def why_damaged(self) -> tuple[str, ...]: ...
    def at_rest(self) -> Path | None: ...
    def close(self) -> None: ...


class Reader:
    """The records of a corpus in order of their keys. Every one is a `Stored` or an `Unreadable`.

    `lost` counts records that could not be stored when the corpus was captured; where there are
    any, the corpus is incomplete, and nothing that is found in it proves that nothing is missing.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.path = source.path
        self.lost = source.lost

    def __len__(self) -> int:
        return self._source.count()

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    def items(self, prefix: str = "") -> Iterator[Item]:
        """Yield all records whose key begins with `prefix`."""
        return (decode_item(item) for item in self._source.values(prefix))

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield keys without reading their records."""
        return self._source.keys(prefix)

    def values(self, prefix: str = "") -> Iterator[RawItem]:
        """Yield keys with their stored bytes, whole or not; `decode_record` checks them."""
        return self._source.values(prefix)

    def values_of(self, keys: Iterable[str]) -> Iterator[RawItem]:
        """Yield those of `keys` that there are, in the order given, as `values` does."""
        return (raw for key in keys if (raw := self._source.value(key)) is not None)

    def read(self, key: str) -> Item | None:
        """Give one record by its whole key, None where there is none."""
        item = self._source.value(key)
        return None if item is None else decode_item(item)

    def why_damaged(self) -> tuple[str, ...]:
        """Say what is wrong with the container itself, beside what its records show."""
        return self._source.why_damaged()

    def digest(self) -> bytes | None:
        """Name the bytes of the one file that holds all records; None while it is written to."""
        file = self._source.at_rest()
        if file is None:
            return None
        try:
            before = fingerprint_of_file(file)
            with file.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").digest()
        except OSError as error:
            raise inaccessible(self.path, error) from None
        return found if fingerprint_of_file(file) == before else None

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_reader(path: Path | str, *, wait_s: float = 5.0, allow_empty: bool = False) -> Reader:
    """Open a corpus directory, an archive, a text form, or what is behind the URL of an object
    store for reading, whichever `path` is.

    Makes nothing, changes nothing, runs nothing of what it reads. Raises the error that tells a
    missing, empty, foreign or locked place apart. With `allow_empty` a corpus without a record is
    not an error, as long as it is one.
    """
    fill = f"replay capture --corpus {path} -- CMD"
    if (url := url_of(path)) is not None:
        fill = f"replay corpus export {url} --corpus DIR"
        remote = import_module("corpus.remote")  # an extra
        reader: Reader = remote.open_remote(remote.open_store(url, make=False), url)
        path = Path(url)
    else:
        path = Path(path).absolute()
        reader = Reader(_open_file(path) if path.is_file() else Database(path, wait_s))
    if len(reader) or allow_empty:
        return reader
    reader.close()
    raise EmptyCorpusError(path, f"holds no records; fill it with `{fill}`")


def _open_file(path: Path) -> Source:
    archive, text = import_module("corpus.archive"), import_module("corpus.text")  # for files alone
    forms: dict[bytes, Callable[[Path], Source]] = {
        archive.MAGIC: archive.Archive,
        text.HEADER.encode(): text.Text,
    }
    try:
        with path.open("rb") as file:
            head = file.read(max(map(len, forms)))
    except OSError as error:
        raise inaccessible(path, error) from None
    for start, form in forms.items():
        if head.startswith(start):
            return form(path)
    if any(start.startswith(head) for start in forms):
        raise DamagedCorpusError(path, f"ends after {len(head)} bytes; fetch it again")
    raise ForeignCorpusError(path, "neither an archive nor a text form of a corpus; give one")


def decode_item(item: RawItem) -> Item:
    """Turn a key and its bytes into a record, or into what says why they are none."""
    if isinstance(item, Unreadable):
        return item
    key, value = item
    try:
        return Stored(key, decode_record(key, value))
    except UnreadableError as error:
        return Unreadable(key, str(error))
