"""What SQLite gives up at is read without it: a repair keeps every record whose bytes are whole."""

import random
import shutil
import sqlite3

import pytest

from corpus import (
    CorpusError,
    DamagedCorpusError,
    Status,
    check_corpus,
    encode_record,
    open_reader,
    open_writer,
    repair_corpus,
)
from corpus.directory import read_lost
from corpus.salvage import _opened, _whole, salvaged_count, salvaged_values

RECORDS = 40
HEADER_OFFSETS = (16, 17, 18, 19, 20, 21, 31, 32, 39, 47, 59, 100, 103, 108, 109)
PAGE_BYTES = 4096


@pytest.fixture
def original(tmp_path, make_record):
    """Records of which every fourth is too long for its page, and the corpus that they are in."""
    noise = random.Random(1)
    records = []
    for number in range(RECORDS):
        source = noise.randbytes(4000 * (number % 12)).hex() if number % 4 == 0 else "small"
        records.append(make_record(number, source=source))
    path = tmp_path / "original"
    with open_writer(path) as writer:
        for record in records:
            writer.add(record)
    return path, dict(map(encode_record, records))


def harmed(path, tmp_path, harm):
    """A copy of a corpus, with its database changed by `harm`."""
    place = tmp_path / "harmed"
    for old in tmp_path.glob("harmed*"):
        shutil.rmtree(old)
    shutil.copytree(path, place)
    database = place / "cache.db"
    database.write_bytes(harm(bytearray(database.read_bytes())))
    return place


def flipped(offset, mask=0x10):
    def harm(data):
        data[offset] ^= mask
        return data

    return harm


def repaired(path, values):
    """Repair a corpus and say how many of its records are there, all of them as they were."""
    kept = repair_corpus(path).kept
    with open_reader(path, allow_empty=True) as reader:
        found = dict(reader.values())
        assert check_corpus(reader).is_whole
    assert len(found) == kept
    assert found.items() <= values.items()
    return kept


def rows_of(path):
    with sqlite3.connect(path / "cache.db") as database:
        found = database.execute("SELECT key, value FROM Cache").fetchall()
    database.close()
    return dict(found)


@pytest.mark.parametrize("mask", [0x01, 0x10, 0xFF])
@pytest.mark.parametrize("offset", HEADER_OFFSETS)
def test_a_wrong_byte_of_the_header_or_the_schema_costs_no_record(original, tmp_path, offset, mask):
    path, values = original
    place = harmed(path, tmp_path, flipped(offset, mask))
    assert repaired(place, values) == RECORDS
    assert read_lost(place) == 0


@pytest.mark.parametrize("field", range(8))
def test_a_wrong_byte_of_the_header_of_any_page_costs_no_record(original, tmp_path, field):
    path, values = original
    data = (path / "cache.db").read_bytes()
    starts = [at for at in range(PAGE_BYTES, len(data), PAGE_BYTES) if data[at] in (2, 5, 10, 13)]
    assert len(starts) > 5
    for start in starts:
        place = harmed(path, tmp_path, flipped(start + field))
        assert repaired(place, values) == RECORDS, start
        assert read_lost(place) <= int(start == PAGE_BYTES)  # which has the count of records


def test_a_wrong_byte_anywhere_costs_the_record_it_is_in(original, tmp_path):
    path, values = original
    chance = random.Random(2)
    size = (path / "cache.db").stat().st_size
    for _ in range(40):
        offset = chance.randrange(size)
        place = harmed(path, tmp_path, flipped(offset, 1 << chance.randrange(8)))
        assert repaired(place, values) >= RECORDS - 1, offset
        assert read_lost(place) <= 1


def test_a_cut_costs_no_record_that_lies_before_it(original, tmp_path):
    path, values = original
    data = (path / "cache.db").read_bytes()
    chance = random.Random(3)
    for _ in range(20):
        size = chance.randrange(PAGE_BYTES, len(data))
        there = sum(value in data[:size] for value in values.values())  # in one piece: the short
        place = harmed(path, tmp_path, lambda data, size=size: data[:size])
        try:
            kept = repaired(place, values)
        except DamagedCorpusError:
            kept = 0
        assert kept >= there, size
        assert there < 10 or read_lost(place) in {1, RECORDS - kept}


@pytest.mark.parametrize("page_bytes", [512, 1024, 8192, 65536])
def test_pages_of_any_size_are_told_without_the_header(original, tmp_path, page_bytes):
    path, values = original
    with sqlite3.connect(path / "cache.db", isolation_level=None) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute(f"PRAGMA page_size = {page_bytes}")
        database.execute("VACUUM")
    database.close()
    place = harmed(path, tmp_path, flipped(16, 0xFF))
    assert dict(salvaged_values(place)) == values
    assert salvaged_count(place) == RECORDS


def test_what_was_removed_stays_removed(original, tmp_path):
    path, values = original
    gone = sorted(values)[::3]
    with open_writer(path) as writer:
        for key in gone:
            writer.remove(key)
    left = {key: value for key, value in values.items() if key not in gone}
    assert repaired(harmed(path, tmp_path, flipped(100)), left) == len(left)


def test_the_log_is_read_and_its_later_pages_count(tmp_path, make_record):
    path, place = tmp_path / "corpus", tmp_path / "copy"
    record, other = make_record(0), make_record(1, status=Status.STARTED)
    with open_writer(path) as writer:
        for _ in range(3):
            writer.add(record)
        writer.add(other)
        shutil.copytree(path, place)
        expected = rows_of(path)
    assert (place / "cache.db-wal").stat().st_size > 0
    (place / "cache.db").write_bytes(b"\xff" * PAGE_BYTES)
    assert dict(salvaged_values(place)) == expected
    assert salvaged_count(place) == 2


def test_a_damaged_corpus_names_the_repair_and_one_without_records_the_archive(original, tmp_path):
    path, _ = original
    place = harmed(path, tmp_path, flipped(100))
    with pytest.raises(DamagedCorpusError, match=r"check --repair"):
        open_reader(place)
    place = harmed(path, tmp_path, lambda data: data[:3000])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DamagedCorpusError, match=r"no whole record .* restore it from an archive$"):
        repair_corpus(place)
    assert sorted(tmp_path.iterdir()) == before


def test_no_bytes_make_a_salvage_fail(original, tmp_path):
    path, values = original
    whole = (path / "cache.db").read_bytes()
    chance = random.Random(4)
    for turn in range(30):
        place = tmp_path / f"{turn}"
        place.mkdir()
        for name in ("cache.db", "cache.db-wal"):
            data = bytearray(whole if turn % 2 else chance.randbytes(chance.randrange(1 << 16)))
            for _ in range(turn * 20 if data else 0):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 5, 13, 0x81, 0xFF))
            (place / name).write_bytes(data)
        assert dict(salvaged_values(place)).items() <= values.items()
        salvaged_count(place)
        (place / "corpus.state").write_text("kernel-replay corpus 1\nlost 0000000000\n")
        try:
            repair_corpus(place)
        except CorpusError:
            continue


def test_a_page_that_follows_itself_ends_all_the_same(original, tmp_path):
    path, values = original

    def ring(data):
        for start in range(2 * PAGE_BYTES, len(data), PAGE_BYTES):
            if data[start] == 0:  # an overflow page: its first bytes are the number of the next
                data[start : start + 4] = (start // PAGE_BYTES + 1).to_bytes(4)
        return data

    found = dict(salvaged_values(harmed(path, tmp_path, ring)))
    assert found.items() <= values.items()
    assert len(found) >= RECORDS * 3 // 4


def test_rows_that_share_a_chain_of_pages_cost_no_more_than_a_multiple_of_it(tmp_path):
    """Keys differ, values are one: what is read for all of them is bounded, not their product."""
    path = tmp_path / "corpus"
    path.mkdir()
    with sqlite3.connect(path / "cache.db") as database:
        database.execute(
            "CREATE TABLE Cache (rowid INTEGER PRIMARY KEY, key BLOB, raw INTEGER, store_time REAL,"
            " expire_time REAL, access_time REAL, access_count INTEGER, tag BLOB, size INTEGER,"
            " mode INTEGER, filename TEXT, value BLOB)"
        )
        value = b"KR\x01" + bytes(1 << 20)
        query = "INSERT INTO Cache VALUES (NULL, ?, 1, 0.5, NULL, 0.5, 0, NULL, 0, 1, NULL, ?)"
        database.execute(query, ("0" * 64, value))
        small = database.execute("PRAGMA page_count").fetchone()[0]
    database.close()
    data = (path / "cache.db").read_bytes()
    pages = [data[at : at + PAGE_BYTES] for at in range(0, len(data), PAGE_BYTES)]
    leaf = next(page for page in pages[1:] if page[0] == 13)
    keys = (f"{number:064x}".encode() for number in range(small * 4))
    copies = (leaf.replace(b"0" * 64, key) for key in keys)
    (path / "cache.db").write_bytes(data + b"".join(copies))
    with _opened(path) as pages:
        before = pages.left
        assert list(_whole(pages, set())) == []
        assert -(1 << 20) < pages.left <= 0 < before
