"""A corpus is counted, checked, mended and pruned without losing what is whole."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from corpus import (
    CorpusError,
    InaccessibleCorpusError,
    LockedCorpusError,
    Provenance,
    Selection,
    SelectionError,
    Status,
    Target,
    check_corpus,
    export_corpus,
    forget_lost,
    key_of,
    merge_corpus,
    open_reader,
    open_writer,
    prune_corpus,
    repair_corpus,
    stat_corpus,
)


def _rows(path) -> dict[str, bytes]:
    with open_reader(path, allow_empty=True) as reader:
        return dict(reader.values())


def _damage(path, *keys) -> None:
    with sqlite3.connect(path / "cache.db") as database:
        for key in keys:
            database.execute(
                "UPDATE Cache SET value = CAST(substr(value, 1, 60) AS BLOB) WHERE key = ?", (key,)
            )
    database.close()


def test_stat_counts_what_is_there(make_corpus, make_record):
    path = make_corpus(5)
    with open_writer(path) as writer:
        writer.add(make_record(1, provenance=Provenance(occurrences=3)))
        writer.add(make_record(8, target=Target("opencl", "pocl"), status=Status.STARTED))
        writer.note_lost()
    _damage(path, key_of(make_record(0)))
    with open_reader(path) as reader:
        stat = stat_corpus(reader)
    assert (stat.records, stat.unreadable, stat.lost, stat.occurrences) == (5, 1, 1, 8)
    assert stat.by_target == {"llvm/x86-64-v3": 4, "opencl/pocl": 1}
    assert stat.by_status == {"finished": 4, "started": 1}
    assert stat.by_kind == {"kernel-replay": 5}
    assert stat.by_revision == {"8c8b8e8": 5}
    assert stat.stored_bytes == sum(map(len, _rows_whole(path)))
    assert stat.file_bytes == os.path.getsize(path / "cache.db")
    assert stat.mean_bytes == stat.stored_bytes / 5


def _rows_whole(path) -> list[bytes]:
    with open_reader(path) as reader:
        bad = {item.key for item in check_corpus(reader).unreadable}
        return [value for key, value in reader.values() if key not in bad]


def test_a_check_and_a_merge_say_how_far_they_are(make_corpus, make_record, tmp_path):
    path, counts = make_corpus(600), []
    with open_reader(path) as reader:
        check_corpus(reader, counts.append)
        with open_writer(tmp_path / "merged") as writer:
            merge_corpus(reader, writer, seen=counts.append)
    assert counts == [256, 512, 256, 512, 600]


def test_check_names_exactly_what_is_damaged(make_corpus, make_record):
    path = make_corpus(50)
    damaged = sorted(key_of(make_record(number)) for number in (3, 17, 40))
    with open_reader(path) as reader:
        assert check_corpus(reader).is_whole
    _damage(path, *damaged)
    with open_reader(path) as reader:
        check = check_corpus(reader)
    assert not check.is_whole
    assert [item.key for item in check.unreadable] == damaged
    assert (check.records, check.container) == (50, ())


def test_repair_keeps_every_whole_record_as_it_was(make_corpus, make_record):
    path = make_corpus(50)
    before = _rows(path)
    damaged = sorted(key_of(make_record(number)) for number in (3, 17, 40))
    _damage(path, *damaged)
    mode = path.stat().st_mode
    repaired = repair_corpus(path)
    assert (repaired.kept, [item.key for item in repaired.dropped]) == (47, damaged)
    assert _rows(path) == {key: value for key, value in before.items() if key not in damaged}
    assert path.stat().st_mode == mode
    assert repaired.backup == path.with_name("corpus.damaged")
    assert len(_rows(repaired.backup)) == 50
    assert sorted(os.listdir(path.parent)) == ["corpus", "corpus.damaged"]
    with open_reader(path) as reader:
        assert (check_corpus(reader).is_whole, reader.lost) == (True, 3)
    assert forget_lost(path) == 3
    with open_reader(path) as reader:
        assert reader.lost == 0


def test_repair_leaves_a_whole_corpus_alone(make_corpus):
    path = make_corpus(5)
    before = (path / "cache.db").read_bytes()
    assert repair_corpus(path).backup is None
    assert (path / "cache.db").read_bytes() == before
    assert os.listdir(path.parent) == ["corpus"]


def test_repair_mends_a_broken_database_and_a_broken_state(make_corpus):
    path = make_corpus(200)
    whole = bytearray((path / "cache.db").read_bytes())
    middle = len(whole) // 2 // 4096 * 4096
    whole[middle : middle + 64] = bytes(64)
    (path / "cache.db").write_bytes(whole)
    (path / "corpus.state").write_text("nonsense")
    repaired = repair_corpus(path)
    assert 0 < repaired.kept <= 200
    with open_reader(path) as reader:
        check = check_corpus(reader)
    assert (check.is_whole, check.records) == (True, repaired.kept)
    assert check.lost == len(repaired.dropped) + 1


def test_repair_refuses_a_corpus_that_someone_has_open(make_corpus, make_record):
    path = make_corpus(3)
    _damage(path, key_of(make_record(0)))
    program = f"""
import sys
from corpus import open_writer
with open_writer({str(path)!r}) as writer:
    print(flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    other.stdout.readline()
    with pytest.raises(LockedCorpusError):
        repair_corpus(path, wait_s=0.1)
    other.communicate()
    assert os.listdir(path.parent) == ["corpus"]
    assert repair_corpus(path).kept == 2


def test_a_repair_that_cannot_rename_leaves_the_corpus_where_it_was(
    monkeypatch, make_corpus, make_record
):
    path = make_corpus(3)
    _damage(path, key_of(make_record(0)))
    rename = Path.rename

    def refuse(self, target):
        if target == path and ".damaged" not in self.name:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(InaccessibleCorpusError, match="input/output error"):
        repair_corpus(path)
    assert os.listdir(path.parent) == ["corpus"]
    assert len(_rows(path)) == 3


def test_repair_needs_a_directory(tmp_path, make_corpus):
    with open_reader(make_corpus(1)) as reader:
        export_corpus(reader, tmp_path / "archive")
    with pytest.raises(CorpusError, match="not a directory"):
        repair_corpus(tmp_path / "archive")
    with pytest.raises(CorpusError, match="does not exist"):
        repair_corpus(tmp_path / "gone")


def test_prune_takes_out_what_the_rule_names_and_nothing_else(make_corpus, make_record):
    path = make_corpus(12)
    _damage(path, key_of(make_record(5)))
    rule = Selection(only=("e_1*", "e_5"))
    expected = sorted(key_of(make_record(number)) for number in (1, 10, 11))
    assert prune_corpus(path, rule, dry_run=True).removed == tuple(expected)
    assert len(_rows(path)) == 12
    pruned = prune_corpus(path, rule)
    assert (pruned.removed, pruned.kept) == (tuple(expected), 9)
    assert set(_rows(path)) == {key_of(make_record(n)) for n in range(12)} - set(expected)


def test_prune_refuses_a_rule_that_chooses_everything(make_corpus):
    with pytest.raises(SelectionError, match="chooses every record"):
        prune_corpus(make_corpus(2), Selection())
