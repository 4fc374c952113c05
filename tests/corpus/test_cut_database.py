"""A database that is gone or was cut is damage, and one that was not made yet is none."""

import multiprocessing
import shutil
import sqlite3
import time

import pytest

from corpus import (
    ChangedCorpusError,
    DamagedCorpusError,
    EmptyCorpusError,
    LockedCorpusError,
    MissingCorpusError,
    check_corpus,
    open_reader,
    open_writer,
    repair_corpus,
)
from corpus.directory import raise_lost

RECORDS = 200
PAGE_BYTES = 4096
INDEX_LEAF = 10  # how such a page begins
NEW_STATES = ("", "kernel-replay corpus 0\nlost 0000000000\n")


def cut(path, size):
    with (path / "cache.db").open("r+b") as file:
        file.truncate(size)


def remove(path, _):
    (path / "cache.db").unlink()


def checked(path):
    with open_reader(path) as reader:
        assert len(reader) == len(list(reader))
        return check_corpus(reader)


@pytest.mark.parametrize("lost", [0, 3])
@pytest.mark.parametrize("take", [remove, cut])
def test_a_database_that_is_gone_is_damage_for_readers_and_writers(make_corpus, take, lost):
    path = make_corpus(RECORDS)
    raise_lost(path, lost)
    take(path, 0)
    found = checked(path)
    assert (found.is_whole, found.records, len(found.unreadable)) == (False, 1, 1)
    assert found.container == ("its database is gone, or was cut to nothing",)
    before = sorted(path.iterdir())
    with pytest.raises(DamagedCorpusError, match=r"gone.*check --repair"):
        open_writer(path)
    assert sorted(path.iterdir()) == before


@pytest.mark.parametrize("take", [remove, cut])
def test_a_repair_leaves_an_incomplete_corpus_that_can_be_written(make_corpus, make_record, take):
    path = make_corpus(RECORDS)
    take(path, 0)
    assert (repair_corpus(path).kept, repair_corpus(path).backup) == (0, None)
    with open_writer(path) as writer:
        writer.add(make_record(7))
    with open_reader(path) as reader:
        assert (len(reader), reader.lost, check_corpus(reader).is_whole) == (1, 1, True)


def test_no_cut_goes_unseen_and_none_makes_the_records_fewer(make_corpus, tmp_path):
    path = make_corpus(RECORDS)
    pages = (path / "cache.db").stat().st_size // PAGE_BYTES
    counts = []
    for size in (*range(1, PAGE_BYTES, 500), *(n * PAGE_BYTES for n in range(1, pages))):
        copy = shutil.copytree(path, tmp_path / "cut", dirs_exist_ok=True)
        cut(copy, size)
        try:
            found = checked(copy)
        except DamagedCorpusError:
            continue  # not even what it holds can be told
        assert not found.is_whole
        assert found.unreadable or found.records == RECORDS  # a page of the index holds none
        counts.append(found.records)
    assert set(counts) <= {1, RECORDS}  # one stands for as many as nobody can count any more
    assert counts.count(RECORDS) > pages // 2


def test_a_page_of_the_index_takes_no_record_with_it(make_corpus, tmp_path):
    path = make_corpus(RECORDS)
    whole = (path / "cache.db").read_bytes()
    pages = range(0, len(whole), PAGE_BYTES)
    leaves = [
        at for at in pages if whole[at] == INDEX_LEAF and b"count" not in whole[at:][:PAGE_BYTES]
    ]
    assert len(leaves) > 2
    with open_reader(path) as reader:
        records = list(reader)
    for at in leaves:
        copy = shutil.copytree(path, tmp_path / "cut", dirs_exist_ok=True)
        (copy / "cache.db").write_bytes(whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :])
        with open_reader(copy) as reader:
            assert list(reader) == records
            assert [reader.read(record.key) for record in records] == records
            assert not check_corpus(reader).is_whole
        repaired = repair_corpus(copy)
        assert (repaired.kept, repaired.dropped) == (RECORDS, ())
        shutil.rmtree(repaired.backup)


def test_the_ways_around_a_damaged_index_are_gone_once(make_corpus, monkeypatch):
    """Four walks over the whole table for each key took the square of the time."""
    path = make_corpus(RECORDS)
    whole = (path / "cache.db").read_bytes()
    with open_reader(path) as reader:
        keys = list(reader.keys())
    for at in range(0, len(whole), PAGE_BYTES):
        if whole[at] == INDEX_LEAF:
            whole = whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :]
    (path / "cache.db").write_bytes(whole)
    asked = []

    def connect(*words, **named):
        connection = original(*words, **named)
        connection.set_trace_callback(asked.append)
        return connection

    original = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    with open_reader(path) as reader:
        assert len(list(reader.values_of(keys))) == RECORDS
    assert sum("NOT INDEXED ORDER BY rowid DESC" in query for query in asked) == 1


def test_a_repair_counts_each_record_that_a_cut_took_as_lost(make_corpus):
    path = make_corpus(RECORDS)
    cut(path, (path / "cache.db").stat().st_size - 5 * PAGE_BYTES)
    kept = repair_corpus(path).kept
    with open_reader(path) as reader:
        assert (len(reader), reader.lost) == (kept, RECORDS - kept)
    assert 0 < kept < RECORDS


@pytest.mark.parametrize("state", NEW_STATES)
def test_a_maker_that_was_killed_before_there_was_a_database_left_no_damage(
    tmp_path, make_record, state
):
    (tmp_path / "corpus.state").write_text(state)
    with pytest.raises(EmptyCorpusError, match="holds no records"):
        open_reader(tmp_path)
    with open_reader(tmp_path, allow_empty=True) as reader:
        assert check_corpus(reader).is_whole
    with open_writer(tmp_path) as writer:
        writer.add(make_record())
    assert checked(tmp_path).is_whole
    cut(tmp_path, 0)
    assert not checked(tmp_path).is_whole


@pytest.mark.parametrize("state", NEW_STATES)
def test_a_writer_that_was_killed_before_it_noted_the_database_left_no_damage(
    make_corpus, make_record, state
):
    path = make_corpus(1)
    (path / "corpus.state").write_text(state)
    assert checked(path).is_whole
    with open_writer(path) as writer:
        writer.add(make_record(1))
    cut(path, 0)
    assert not checked(path).is_whole


def make_many(place, make_record):
    for number in range(40):
        with open_writer(place / str(number)) as writer:
            writer.add(make_record())


def test_a_corpus_in_the_making_is_never_taken_for_a_damaged_one(tmp_path, make_record):
    makers = [
        multiprocessing.get_context("fork").Process(target=make_many, args=(tmp_path, make_record))
        for _ in range(2)
    ]
    for maker in makers:
        maker.start()
    deadline_s = time.monotonic() + 60
    for number in range(40):
        records = 0
        while not records:
            try:
                with open_reader(tmp_path / str(number)) as reader:
                    assert check_corpus(reader).is_whole
                    records = len(reader)
            except (MissingCorpusError, EmptyCorpusError, LockedCorpusError, ChangedCorpusError):
                assert time.monotonic() < deadline_s
    for maker in makers:
        maker.join()
        assert maker.exitcode == 0
