"""Records from one place to another: export to one file, merge into a directory."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from corpus.archive import write_archive
from corpus.baseline import Added, Side, ask, merge
from corpus.directory import unwritable
from corpus.encoding import decode_record, encode_record
from corpus.errors import ForeignCorpusError
from corpus.reader import Reader, decode_item
from corpus.record import KernelRecord, Unreadable
from corpus.text import write_text
from corpus.writer import Writer

_BATCH = 256

Change = Callable[[KernelRecord], KernelRecord]
"""A change to each record on its way out. It may change the key."""


class Form(Enum):
    """How an exported corpus is written."""

    BINARY = "binary"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Exported:
    """How many records an export wrote, and which it could not, as they could not be read."""

    records: int
    unreadable: tuple[Unreadable, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """One question with two answers, and the fields in which they differ."""

    key: str
    name: str | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of each record of the source. All but `lost` add up to what it held."""

    added: int
    equal: int
    counted: int
    completed: int
    repaired: int
    conflicts: tuple[Conflict, ...]
    unreadable: tuple[Unreadable, ...]
    lost: int


def export_corpus(
    reader: Reader, path: Path, *, form: Form = Form.BINARY, change: Change | None = None
) -> Exported:
    """Write a corpus to one file, which is there whole or not at all.

    The same records give the same bytes. With `change` the records are collected in memory, as
    their order may be another one; those that become equal questions are counted together.
    """
    unreadable: list[Unreadable] = []
    whole = _whole(reader, unreadable)
    values = _changed(whole, change) if change else ((key, value) for key, value, _ in whole)
    with _new_file(path) as file:
        if form is Form.BINARY:
            records = write_archive(file, values, reader.lost)
        else:
            records = 0
            for piece in write_text((decode_record(*item) for item in values), reader.lost):
                file.write(piece.encode())
                records += piece.startswith("\nrecord ")
    return Exported(records, tuple(unreadable))


def merge_corpus(
    source: Reader,
    writer: Writer,
    *,
    prefer: Side = Side.OURS,
    seen: Callable[[int], None] | None = None,
) -> Merged:
    """Add the records of `source` to a corpus: a union by key, where conflicts are reported.

    `prefer` says whose answer stays in a conflict. If the source was incomplete, so is the result.
    `seen` hears how many records have been dealt with.
    """
    tally: Counter[Added] = Counter()
    dealt_with = 0
    conflicts: list[Conflict] = []
    unreadable: list[Unreadable] = []
    whole = _whole(source, unreadable)
    while batch := list(islice(whole, _BATCH)):
        with writer.batch():
            for key, value, record in batch:
                decision = writer.update(key, partial(merge, key, new=value, prefer=prefer))
                if decision.differing:
                    conflicts.append(Conflict(key, record.name, decision.differing))
                else:
                    tally[decision.added] += 1
        dealt_with += len(batch)
        if seen is not None:
            seen(dealt_with)
    if source.lost:
        writer.note_lost(source.lost)
    return Merged(
        added=tally[Added.NEW],
        equal=tally[Added.KEPT],
        counted=tally[Added.COUNTED],
        completed=tally[Added.COMPLETED],
        repaired=tally[Added.REPLACED],
        conflicts=tuple(conflicts),
        unreadable=tuple(unreadable),
        lost=source.lost,
    )


def _whole(
    reader: Reader, unreadable: list[Unreadable]
) -> Iterator[tuple[str, bytes, KernelRecord]]:
    """Yield records with their bytes; put aside those that are not whole."""
    for raw in reader.values():
        item = decode_item(raw)
        if isinstance(item, Unreadable):
            unreadable.append(item)
        elif not isinstance(raw, Unreadable):
            yield item.key, raw[1], item.record


def _changed(
    whole: Iterator[tuple[str, bytes, KernelRecord]], change: Change
) -> Iterator[tuple[str, bytes]]:
    changed: dict[str, bytes] = {}
    for _, _, record in whole:
        key, value = encode_record(change(record))
        changed[key] = ask(key, changed.get(key), value).value or value
    yield from sorted(changed.items())


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Write beside `path` and put the file in its place once it is whole and on the disk."""
    path = path.absolute()
    if path.is_dir():
        raise ForeignCorpusError(path, "a directory; give the name of a file to write")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        Path(name).unlink(missing_ok=True)
