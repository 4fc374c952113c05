"""Looking after a corpus: what is in it, what is damaged in it, mending and pruning it."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from corpus.directory import (
    DATABASE_NAME,
    WAL_NAME,
    fingerprint,
    held_still,
    read_lost,
    refuse_store,
    require_corpus,
    reset_state,
    size_of,
    unwritable,
)
from corpus.errors import ChangedCorpusError, DamagedCorpusError, SelectionError
from corpus.reader import Reader, decode_item, open_reader
from corpus.record import KernelRecord, Stored, Unreadable
from corpus.selection import Selection, select
from corpus.transfer import merge_corpus
from corpus.writer import open_writer

_SEEN_EVERY = 256


@dataclass(frozen=True, slots=True)
class Stat:
    """What a corpus holds, counted. `stored_bytes` is without what the container adds."""

    path: Path
    records: int
    unreadable: int
    lost: int
    occurrences: int
    stored_bytes: int
    file_bytes: int
    by_kind: Mapping[str, int]
    by_target: Mapping[str, int]
    by_status: Mapping[str, int]
    by_revision: Mapping[str, int]

    @property
    def mean_bytes(self) -> float:
        """Mean size of a stored record."""
        return self.stored_bytes / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """What is wrong with a corpus: each unreadable record by its key, and the container itself."""

    path: Path
    records: int
    unreadable: tuple[Unreadable, ...]
    container: tuple[str, ...]
    lost: int

    @property
    def is_whole(self) -> bool:
        """Say whether nothing is damaged. A whole corpus may still be incomplete: see `lost`."""
        return not self.unreadable and not self.container


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair kept, what it could not, and where the corpus lies as it was before.

    One record is assumed lost where the count of those that were lost earlier is damaged.
    """

    kept: int
    dropped: tuple[Unreadable, ...]
    backup: Path | None
    assumed_lost: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """The keys that were taken out, or would be, and how many records stay."""

    removed: tuple[str, ...]
    kept: int


def stat_corpus(reader: Reader) -> Stat:
    """Read all records and count them by what they are."""
    counts: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {name: Counter() for name in _GROUPS}
    for raw in reader.values():
        item = decode_item(raw)
        if isinstance(item, Unreadable) or isinstance(raw, Unreadable):
            counts["unreadable"] += 1
            continue
        counts["records"] += 1
        counts["occurrences"] += item.record.provenance.occurrences
        counts["stored_bytes"] += len(raw[1])
        for name, group_of in _GROUPS.items():
            groups[name][group_of(item.record)] += 1
    return Stat(
        path=reader.path,
        records=counts["records"],
        unreadable=counts["unreadable"],
        lost=reader.lost,
        occurrences=counts["occurrences"],
        stored_bytes=counts["stored_bytes"],
        file_bytes=_file_bytes(reader.path),
        **{name: dict(sorted(group.items())) for name, group in groups.items()},
    )


def check_corpus(reader: Reader, seen: Callable[[int], None] | None = None) -> Check:
    """Read every record and every page, and name what is damaged. `seen` hears of the count."""
    records = 0
    unreadable = []
    for item in reader:
        records += 1
        if seen is not None and records % _SEEN_EVERY == 0:
            seen(records)
        if isinstance(item, Unreadable):
            unreadable.append(item)
    return Check(reader.path, records, tuple(unreadable), reader.why_damaged(), reader.lost)


def repair_corpus(path: Path | str, *, wait_s: float = 5.0) -> Repaired:
    """Keep all that is whole: build a corpus anew from it, and put the damaged one aside.

    What is dropped counts as lost, so the corpus is incomplete until it is captured again. A whole
    corpus is left as it is. Nobody else may have it open.
    """
    refuse_store(path)
    path = Path(path).absolute()
    require_corpus(path)
    before = fingerprint(path)
    lost = _lost_before_damage(path)
    with open_reader(path, wait_s=wait_s, allow_empty=True) as reader:
        check = check_corpus(reader)
        assumed_lost = int(lost is None)
        if check.is_whole and not assumed_lost:
            return Repaired(check.records, (), None)
        new = Path(tempfile.mkdtemp(prefix=f".{path.name[:64]}.", dir=path.parent))
        shutil.copymode(path, new)
        with open_writer(new) as writer:
            merge_corpus(reader, writer)
            writer.note_lost(len(check.unreadable) + assumed_lost)
    backup = _unused_name(path)
    try:
        with held_still(path, wait_s, exclusive=True):
            if fingerprint(path) != before:
                raise ChangedCorpusError(path, "written to while it was mended; mend it again")
            _put_in_place(new, path, backup)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    kept = check.records - len(check.unreadable)
    return Repaired(kept, check.unreadable, backup, assumed_lost)


def prune_corpus(path: Path | str, rule: Selection, *, dry_run: bool = False) -> Pruned:
    """Take out the records that agree with every field of `rule`; never an unreadable one."""
    if rule == Selection():
        raise SelectionError("prune: the rule chooses every record; name what shall go")
    with open_reader(path) as reader:
        total = len(reader)
        chosen = [item.key for item in select(reader, rule) if isinstance(item, Stored)]
    if not dry_run:
        with open_writer(path) as writer, writer.batch():
            for key in chosen:
                writer.remove(key)
    return Pruned(tuple(chosen), total - len(chosen))


def forget_lost(path: Path | str) -> int:
    """Call a corpus complete although records were lost, and say how many. For people to decide."""
    with open_writer(path) as writer:
        lost = read_lost(writer.path)
        writer.note_lost(-lost)
    return lost


_GROUPS: Mapping[str, Callable[[KernelRecord], str]] = {
    "by_kind": lambda record: record.kind,
    "by_target": lambda record: f"{record.target.backend}/{record.target.profile}",
    "by_status": lambda record: record.status.value,
    "by_revision": lambda record: record.provenance.revision or "unknown",
}


def _lost_before_damage(path: Path) -> int | None:
    """Give the count of lost records; where that is what is damaged, mend it and give None."""
    try:
        return read_lost(path)
    except DamagedCorpusError:
        reset_state(path)
        return None


def _put_in_place(new: Path, path: Path, backup: Path) -> None:
    """Rename twice, and back again if only the first succeeds."""
    path.rename(backup)
    try:
        new.rename(path)
    except OSError:
        backup.rename(path)
        raise


def _unused_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged{n or ''}") for n in count())
    return next(name for name in names if not name.exists())


def _file_bytes(path: Path) -> int:
    if path.is_file():
        return size_of(path)
    return sum(size_of(path / name) for name in (DATABASE_NAME, WAL_NAME))
