"""A corpus in an object store (S3, GCS, Azure, HTTP, a directory, memory): one object a record.

Objects are only ever created, never written again, so that any number of jobs may push at once and
the first answer stays. Reading goes through a `Reader` like any other: list, check, export, merge.
Needs the extra `remote`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from corpus.baseline import Side, differing_fields
from corpus.encoding import MAX_VALUE_BYTES
from corpus.errors import RemoteError
from corpus.key import is_key
from corpus.reader import Reader, decode_item
from corpus.record import Item, RawItem, Stored, Unreadable
from corpus.transfer import Conflict, Merged, merge_corpus
from corpus.writer import Writer

try:
    import obstore  # type: ignore[import-not-found, unused-ignore]  # an extra
    from obstore.exceptions import (  # type: ignore[import-not-found, unused-ignore]  # an extra that may be missing
        AlreadyExistsError,
        BaseError,
    )
    from obstore.store import (  # type: ignore[import-not-found, unused-ignore]  # an extra that may be missing
        ObjectStore,
        from_url,
    )
except ModuleNotFoundError as error:
    raise RemoteError(
        f"remote: {error.name} is not installed; run `pip install 'kernel-replay[remote]'`"
    ) from None

_T = TypeVar("_T")
_R = TypeVar("_R")

_AT_ONCE = 16
_BATCH = 256
_RECORDS = "records/"
_INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of each record that was pushed; the counts add up to what the reader held."""

    created: int
    present: int
    conflicts: tuple[Conflict, ...]
    unreadable: tuple[Unreadable, ...]


def open_store(
    url: str,
    *,
    config: Mapping[str, str] | None = None,
    allow_http: bool = False,
    make: bool = True,
) -> ObjectStore:
    """Open an object store by its URL. `config` is obstore's, as `region` or `endpoint` for S3.
    A directory that is not there is made, unless it is only to be read.

    What it does not say comes from the variables of the store, as AWS_ENDPOINT or AWS_ALLOW_HTTP.
    """
    with _remote_errors(url):
        if url.startswith("file:"):
            return from_url(url, mkdir=make)
        # Which config goes with an address shows when it is opened; its types are one per store.
        client = {"client_options": {"allow_http": True}} if allow_http else {}
        store: ObjectStore = from_url(  # type: ignore[call-overload, unused-ignore]  # an extra that may be missing
            url, config=dict(config or {}), **client
        )
        return store


def open_remote(store: ObjectStore, name: str) -> Reader:
    """Open a corpus in an object store for reading; `name` is what messages call it."""
    return Reader(_Remote(store, name))


def push_corpus(reader: Reader, store: ObjectStore, name: str) -> Pushed:
    """Create an object for each record that has none yet. A conflict is reported, never settled."""
    created = present = 0
    conflicts: list[Conflict] = []
    unreadable: list[Unreadable] = []
    with _remote_errors(name):
        for item, other in _each(partial(_push, store), reader.values()):
            if isinstance(item, Unreadable):
                unreadable.append(item)
            elif other is None:
                created += 1
            elif fields := _differing(item, other):
                conflicts.append(Conflict(item.key, item.record.name, fields))
            else:
                present += 1
        if reader.lost:
            obstore.put(store, _INCOMPLETE, b"", mode="overwrite")
    return Pushed(created, present, tuple(conflicts), tuple(unreadable))


def pull_corpus(
    store: ObjectStore, name: str, writer: Writer, *, prefer: Side = Side.OURS
) -> Merged:
    """Merge what an object store holds into a corpus directory."""
    with open_remote(store, name) as reader:
        return merge_corpus(reader, writer, prefer=prefer)


class _Remote:
    """The objects of a store as rows in order of their keys."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self.path = Path(name)
        self._name = name
        self._store = store
        self._sizes: dict[str, int] = {}
        with _remote_errors(name):
            for page in obstore.list(store):
                for entry in page:
                    self._sizes[entry["path"]] = entry["size"]
        self.lost = int(self._sizes.pop(_INCOMPLETE, None) is not None)
        self._sizes = {
            path.removeprefix(_RECORDS).replace("/", ""): size
            for path, size in sorted(self._sizes.items())
        }

    def close(self) -> None:
        """Hold nothing that needs letting go of."""

    def count(self) -> int:
        return len(self._sizes)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in self._sizes if key.startswith(prefix))

    def values(self, prefix: str) -> Iterator[RawItem]:
        with _remote_errors(self._name):
            yield from _each(self._read, self.keys(prefix))

    def value(self, key: str) -> RawItem | None:
        with _remote_errors(self._name):
            return self._read(key) if key in self._sizes else None

    def at_rest(self) -> Path | None:
        """None: it is no file."""
        return None

    def why_damaged(self) -> tuple[str, ...]:
        """Each object stands for itself: there is nothing beside the records to be damaged."""
        return ()

    def _read(self, key: str) -> RawItem:
        if not is_key(key):
            return Unreadable(key[:80], "an object with another name than a record's")
        if self._sizes[key] > MAX_VALUE_BYTES:
            return Unreadable(
                key, f"an object of {self._sizes[key]} bytes, {MAX_VALUE_BYTES} are allowed"
            )
        return key, _fetch(self._store, key)


def _push(store: ObjectStore, raw: RawItem) -> tuple[Item, Item | None]:
    """Push one record; give what is there already where something is."""
    item = decode_item(raw)
    if isinstance(item, Unreadable) or isinstance(raw, Unreadable):
        return item, None
    try:
        obstore.put(store, _object_of(item.key), raw[1], mode="create")
    except AlreadyExistsError:
        return item, decode_item((item.key, _fetch(store, item.key)))
    return item, None


def _object_of(key: str) -> str:
    return f"{_RECORDS}{key[:2]}/{key[2:]}"


def _fetch(store: ObjectStore, key: str) -> bytes:
    return bytes(obstore.get(store, _object_of(key)).bytes())


def _differing(ours: Stored, theirs: Item) -> tuple[str, ...]:
    if isinstance(theirs, Unreadable):
        return (f"unreadable there: {theirs.reason}",)
    return differing_fields(ours.record, theirs.record)


def _each(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Map in order, several at once, holding no more than a batch in memory."""
    items = iter(items)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while batch := list(islice(items, _BATCH)):
            yield from pool.map(work, batch)


@contextmanager
def _remote_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        first, *_ = str(error).split("\n")
        raise RemoteError(
            f"remote {name}: {first or type(error).__name__}; check its address and access"
        ) from None
