"""Looking after a corpus: what is in it, what is damaged in it, mending and pruning it."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path

from corpus.baseline import Added, Decision
from corpus.database import NO_REMEDY, OUT_OF_REACH, REMEDY, UNCOUNTED, out_of_reach
from corpus.directory import (
    DATABASE_NAME,
    GONE,
    WAL_NAME,
    fingerprint,
    held_still,
    raise_lost,
    read_lost,
    refuse_store,
    require_corpus,
    reset_state,
    size_of,
    unwritable,
)
from corpus.errors import (
    ChangedCorpusError,
    DamagedCorpusError,
    ForeignCorpusError,
    PathError,
    SelectionError,
)
from corpus.reader import Reader, decode_item, open_reader
from corpus.record import KernelRecord, Stored, Unreadable
from corpus.salvage import salvaged_count, salvaged_values
from corpus.selection import Selection, select
from corpus.transfer import merge_corpus
from corpus.writer import Writer, open_writer

_SEEN_EVERY = 256
_BATCH = 256


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

    What SQLite does not reach is looked for in the pages of its files, without SQLite. What is
    dropped counts as lost, so the corpus is incomplete until it is captured again. A whole
    corpus is left as it is. Nobody else may have it open.
    """
    refuse_store(path)
    path = Path(path).absolute()
    require_corpus(path)
    before = fingerprint(path)
    lost = _lost_before_damage(path)
    source = _opened(path, wait_s)
    with ExitStack() as stack:
        if isinstance(source, Reader):
            with source:
                check = check_corpus(source)
                if check.is_whole and lost is not None:
                    return Repaired(check.records, (), None)
                new = _new_beside(path, stack)
                kept, dropped = _keep(source, check, new)
        else:
            new = _new_beside(path, stack)
            kept, dropped = _keep_by_salvage(path, source, new)
            _note_lost(new, lost or 0)  # a merge has done so
        _note_lost(new, len(dropped) + int(lost is None))
        backup = _exchange(new, path, before, wait_s)
    return Repaired(kept, dropped, backup, int(lost is None))


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


def _opened(path: Path, wait_s: float) -> Reader | PathError:
    """Open a corpus, or say why SQLite cannot: of a damaged schema it reads the names wrong."""
    try:
        return open_reader(path, wait_s=wait_s, allow_empty=True)
    except (DamagedCorpusError, ForeignCorpusError) as error:
        return error


def _new_beside(path: Path, stack: ExitStack) -> Path:
    """Make a directory on the same disk, which is gone in the end if it is still there."""
    new = Path(tempfile.mkdtemp(prefix=f".{path.name[:64]}.", dir=path.parent))
    stack.callback(shutil.rmtree, new, ignore_errors=True)
    shutil.copymode(path, new)
    return new


def _keep(source: Reader, check: Check, new: Path) -> tuple[int, tuple[Unreadable, ...]]:
    """Keep what can be read, and what SQLite did not reach; say how much, and what is dropped."""
    with open_writer(new) as writer:
        merge_corpus(source, writer)
        # Of a container that is whole SQLite reached all: more would be what was removed or mended.
        added = _add_salvaged(source.path, writer) if check.container else set()
    kept = check.records - len(check.unreadable) + len(added)
    missing = _still_missing(check.unreadable, added)
    counted = tuple(item for item in missing if item.reason not in (GONE, UNCOUNTED))
    if missing == counted or (expected := salvaged_count(source.path)) is None:
        return kept, missing
    return kept, counted + out_of_reach(expected, kept + len(counted))


def _keep_by_salvage(path: Path, error: PathError, new: Path) -> tuple[int, tuple[Unreadable, ...]]:
    """Keep what is found without SQLite. A corpus in which that is nothing is left as it is."""
    with open_writer(new) as writer:
        kept = len(_add_salvaged(path, writer))
    if not kept:
        fact = error.fact.removesuffix(REMEDY)
        raise type(error)(path, fact if fact == error.fact else fact + NO_REMEDY)
    return kept, out_of_reach(salvaged_count(path), kept)


def _add_salvaged(path: Path, writer: Writer) -> set[str]:
    """Add what is found in the files and is not there yet."""
    added = set()
    values = salvaged_values(path)
    while batch := list(islice(values, _BATCH)):
        with writer.batch():
            for key, value in batch:
                decision = writer.update(key, partial(_if_missing, value))
                if decision.value is not None:
                    added.add(key)
    return added


def _if_missing(value: bytes, old: bytes | None) -> Decision:
    return Decision(Added.NEW, value) if old is None else Decision(Added.KEPT, None)


def _note_lost(new: Path, count: int) -> None:
    try:
        raise_lost(new, count)
    except OSError as error:
        raise unwritable(new, error) from None


def _still_missing(unreadable: tuple[Unreadable, ...], added: Set[str]) -> tuple[Unreadable, ...]:
    """Leave out what was added after all: by its key, or as one of those of which none is known."""
    named = {item.key for item in unreadable}
    nameless = len(added - named)
    left = []
    for item in unreadable:
        if not item.key and item.reason == OUT_OF_REACH and nameless:
            nameless -= 1
        elif item.key not in added:
            left.append(item)
    return tuple(left)


def _exchange(
    new: Path, path: Path, before: tuple[tuple[int, int, int] | None, ...], wait_s: float
) -> Path:
    """Put a corpus made anew in place of the one that it was made from; say where that is now."""
    backup = _unused_name(path)
    try:
        with held_still(path, wait_s, exclusive=True):
            if fingerprint(path) != before:
                raise ChangedCorpusError(path, "written to while it was mended; mend it again")
            _put_in_place(new, path, backup)
    except OSError as error:
        raise unwritable(path, error) from None
    return backup


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
