"""Reading tells places apart, changes nothing, runs nothing and skips nothing."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import diskcache
import pytest

from corpus import (
    ChangedCorpusError,
    DamagedCorpusError,
    EmptyCorpusError,
    ForeignCorpusError,
    MissingCorpusError,
    Stored,
    Unreadable,
    check_corpus,
    directory,
    key_of,
    open_reader,
    open_writer,
    repair_corpus,
)


def _bytes_of(path) -> dict[str, str]:
    return {
        name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in os.listdir(path)
    }


def _leave_a_log(path) -> None:
    """Add one record more and die without closing, so that a log is left."""
    program = f"""
import os
from corpus import KernelRecord, Target, open_writer
writer = open_writer({str(path)!r})
writer.add(KernelRecord(kind="k", ast="in the log", target=Target("llvm", "x")))
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (path / "cache.db-wal").stat().st_size


def _execute(path, statement, *values) -> None:
    database = sqlite3.connect(path / "cache.db", isolation_level=None)
    database.execute(statement, values)
    database.close()


def test_a_missing_corpus_is_named_and_not_made(tmp_path):
    with pytest.raises(MissingCorpusError, match=r"^corpus .*/gone: does not exist; make one with"):
        open_reader(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


def test_an_empty_directory_is_named_and_left_empty(tmp_path):
    with pytest.raises(EmptyCorpusError, match="an empty directory"):
        open_reader(tmp_path)
    with pytest.raises(EmptyCorpusError, match="an empty directory"):
        open_reader(tmp_path, allow_empty=True)
    assert not os.listdir(tmp_path)


def test_a_corpus_without_records_is_empty_unless_that_is_allowed(make_corpus, make_record):
    path = make_corpus(1)
    with open_writer(path) as writer:
        writer.remove(key_of(make_record(0)))
    with pytest.raises(EmptyCorpusError, match="holds no records"):
        open_reader(path)
    assert list(open_reader(path, allow_empty=True)) == []


def test_a_corpus_that_nobody_has_written_to_is_empty_and_not_damaged(tmp_path):
    directory.make_corpus(tmp_path / "c")
    with pytest.raises(EmptyCorpusError, match="holds no records"):
        open_reader(tmp_path / "c")
    with open_reader(tmp_path / "c", allow_empty=True) as reader:
        assert check_corpus(reader).is_whole
    with open_writer(tmp_path / "c"):
        pass
    with open_reader(tmp_path / "c", allow_empty=True) as reader:
        assert check_corpus(reader).is_whole


def _cut(size):
    return lambda file: os.truncate(file, size)


@pytest.mark.parametrize(
    ("harm", "lost"),
    [(Path.unlink, 1), (_cut(0), 1), (_cut(4096), 1), (_cut(9000), 3)],  # which left the count
)
def test_a_database_that_is_gone_is_damage_and_nobody_writes_a_new_one(make_corpus, harm, lost):
    path = make_corpus(3)
    harm(path / "cache.db")
    with open_reader(path) as reader:
        found = check_corpus(reader)
    assert (len(found.unreadable), found.is_whole, len(found.container)) == (1, False, 1)
    with pytest.raises(DamagedCorpusError, match=r"--repair|restore it"):
        open_writer(path)
    assert repair_corpus(path).kept == 0
    with open_reader(path, allow_empty=True) as reader:
        assert (len(reader), reader.lost, check_corpus(reader).is_whole) == (0, lost, True)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.95])
def test_of_a_database_that_is_cut_every_record_is_there_or_named(make_corpus, share):
    """The count that the database keeps says how many there were, whatever can be reached."""
    path = make_corpus(400)
    os.truncate(path / "cache.db", int(os.path.getsize(path / "cache.db") * share))
    with open_reader(path) as reader:
        assert len(reader) == 400
        items = list(reader)
        assert any("pages are there" in line for line in reader.why_damaged())
    assert len(items) == 400
    whole = sum(isinstance(item, Stored) for item in items)
    assert 0 < whole < 400
    done = repair_corpus(path)
    assert done.kept >= whole  # those in pages to which none leads any more are found as well
    assert len(done.dropped) == 400 - done.kept


def test_a_database_of_less_than_a_page_is_damaged_and_not_foreign(make_corpus):
    path = make_corpus(3)
    os.truncate(path / "cache.db", 3000)
    with pytest.raises(DamagedCorpusError, match="restore it from an archive"):
        open_reader(path)


def test_foreign_places_are_named_and_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    diskcache.Cache(tmp_path / "cache").close()
    before = _bytes_of(tmp_path / "cache")
    with pytest.raises(ForeignCorpusError, match=r"holds 'cache' but no corpus.state"):
        open_reader(tmp_path)
    with pytest.raises(ForeignCorpusError, match=r"holds 'cache.db' but no corpus.state"):
        open_reader(tmp_path / "cache")
    assert _bytes_of(tmp_path / "cache") == before


def test_a_database_with_anything_of_its_own_is_foreign(make_corpus):
    path = make_corpus(1)
    _execute(path, "CREATE VIEW Extra AS SELECT 1")
    with pytest.raises(ForeignCorpusError, match="view 'Extra', which no corpus does"):
        open_reader(path)


def test_a_view_that_never_ends_is_not_asked(make_corpus):
    path = make_corpus(1)
    _execute(path, "DROP TABLE Cache")
    _execute(
        path,
        "CREATE VIEW Cache AS WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n)"
        " SELECT key, 1 AS raw, 1 AS mode, NULL AS filename, x'00' AS value FROM n",
    )
    with pytest.raises(ForeignCorpusError, match="view 'Cache'"):
        open_reader(path)


def test_a_table_with_other_columns_is_foreign(make_corpus):
    path = make_corpus(1)
    _execute(path, "ALTER TABLE Cache RENAME COLUMN value TO worth")
    with pytest.raises(ForeignCorpusError, match="other columns"):
        open_reader(path)


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\x00" + bytes(84)])
def test_a_database_that_is_none_is_damaged(make_corpus, content):
    path = make_corpus(1)
    (path / "cache.db").write_bytes(content)
    with pytest.raises(DamagedCorpusError):
        open_reader(path)


def test_a_damaged_state_file_is_named(make_corpus):
    path = make_corpus(1)
    (path / "corpus.state").write_text("kernel-replay corpus 1\nlost 3\n")
    with pytest.raises(DamagedCorpusError, match=r"corpus.state is damaged"):
        open_reader(path)


@pytest.mark.parametrize("has_log", [False, True])
def test_reading_changes_not_one_byte(make_corpus, has_log):
    path = make_corpus(20)
    if has_log:
        _leave_a_log(path)
    before = _bytes_of(path)
    with open_reader(path) as reader:
        assert len(list(reader)) == len(reader) == 20 + has_log
        assert reader.why_damaged() == ()
        assert _bytes_of(path) == before
    assert _bytes_of(path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="giving up rights needs root")
@pytest.mark.parametrize("has_log", [False, True])
def test_a_place_that_cannot_be_written_is_read_all_the_same(make_corpus, has_log):
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o755)
    shutil.copytree(make_corpus(3), place / "corpus")
    if has_log:
        _leave_a_log(place / "corpus")
    before = _bytes_of(place / "corpus")
    program = f"""
import os, shutil, sys, tempfile  # the library, too, may lie where only root reads
from corpus import open_reader
os.setuid(65534)
with open_reader({str(place / "corpus")!r}) as reader:
    print(len(list(reader)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{3 + has_log}\n", "")
    assert _bytes_of(place / "corpus") == before
    shutil.rmtree(place)


@pytest.mark.parametrize("name", ["with space", "per%20cent", "what?mode=rw", "a#b", "ünï", "-x"])
def test_any_path_will_do(make_corpus, name):
    path = make_corpus(2, name)
    with open_reader(path) as reader:
        assert len(list(reader)) == 2
    assert sorted(os.listdir(path)) == ["cache.db", "corpus.state"]


def test_records_come_in_order_of_their_keys(make_corpus, make_record):
    path = make_corpus(50)
    keys = sorted(key_of(make_record(number)) for number in range(50))
    with open_reader(path) as reader:
        assert [item.key for item in reader] == list(reader.keys()) == keys
        some = [key for key in keys if key.startswith(keys[7][:1])]
        assert list(reader.keys(keys[7][:1])) == some
        assert [item.key for item in reader.items(keys[7][:1])] == some
        assert reader.read(keys[7]).key == keys[7]
        assert reader.read("0" * 64) is None


def test_what_is_not_a_value_of_ours_is_unreadable_and_not_loaded(make_corpus, make_record):
    path = make_corpus(10)
    keys = sorted(key_of(make_record(number)) for number in range(10))
    witness = path.parent / "ran"
    shell = b"cposix\nsystem\n(S'touch " + str(witness).encode() + b"'\ntR."
    set_value = "UPDATE Cache SET mode = ?, filename = ?, value = ? WHERE key = ?"
    _execute(path, set_value, 4, None, shell, keys[0])
    _execute(path, set_value, 4, "../ran", None, keys[1])
    _execute(path, set_value, 1, None, "text", keys[2])
    _execute(path, set_value, 1, None, None, keys[3])
    _execute(path, set_value, 1, None, b"x" * (17 << 20), keys[4])
    _execute(path, "UPDATE Cache SET raw = 0, key = ? WHERE key = ?", shell, keys[5])
    _execute(path, "UPDATE Cache SET key = 'no key' WHERE key = ?", keys[6])
    _execute(path, "UPDATE Cache SET key = ? WHERE key = ?", "f" * 5000, keys[7])
    with open_reader(path) as reader:
        items = list(reader)
        assert len(reader) == 10
    assert [item.key for item in items if isinstance(item, Stored)] == keys[8:]
    reasons = {item.key: item.reason for item in items if isinstance(item, Unreadable)}
    assert [reasons.pop(key) for key in keys[:5]] == [
        *["its value is an object or a file, not bytes; nothing was loaded"] * 4,
        f"its value has {17 << 20} bytes, {16 << 20} are allowed",
    ]
    assert reasons.pop("no key") == "key 'no key': not 64 hex digits"
    assert reasons.pop("f" * 65).endswith("not 64 hex digits")
    assert list(reasons.values()) == ["its key is an object, not text; nothing of it was loaded"]
    assert not witness.exists()


def test_exchanged_values_are_both_unreadable(make_corpus, make_record):
    path = make_corpus(6)
    keys = sorted(key_of(make_record(number)) for number in range(6))
    database = sqlite3.connect(path / "cache.db", isolation_level=None)
    values = dict(database.execute("SELECT key, value FROM Cache"))
    database.execute("UPDATE Cache SET value = ? WHERE key = ?", (values[keys[1]], keys[4]))
    database.execute("UPDATE Cache SET value = ? WHERE key = ?", (values[keys[4]], keys[1]))
    database.close()
    with open_reader(path) as reader:
        items = list(reader)
    bad = [item for item in items if isinstance(item, Unreadable)]
    assert bad == [
        Unreadable(keys[1], f"holds the value of another record, {keys[4][:16]}"),
        Unreadable(keys[4], f"holds the value of another record, {keys[1][:16]}"),
    ]
    assert len(items) == 6


def test_every_record_of_a_database_cut_short_is_accounted_for(make_corpus):
    path = make_corpus(200)
    whole = (path / "cache.db").read_bytes()
    (path / "cache.db").write_bytes(whole[: len(whole) * 2 // 3 // 4096 * 4096])
    with open_reader(path) as reader:
        items = list(reader)
        assert len(reader) == 200
        assert reader.why_damaged()
    good = [item for item in items if isinstance(item, Stored)]
    assert 0 < len(good) < 200
    named = [item for item in items if isinstance(item, Unreadable) and item.key]
    assert len(good) + len(named) == 200 or any(item.key == "" for item in items)


@pytest.mark.parametrize("seed", range(12))
def test_one_flipped_bit_of_a_database_damages_what_is_named_and_no_more(
    make_corpus, make_record, seed
):
    path = make_corpus(60)
    expected = {key_of(make_record(number)): make_record(number) for number in range(60)}
    chance = random.Random(seed)
    whole = (path / "cache.db").read_bytes()
    for _ in range(8):
        damaged = bytearray(whole)
        damaged[chance.randrange(4096, len(whole))] ^= 1 << chance.randrange(8)
        (path / "cache.db").write_bytes(damaged)
        with open_reader(path) as reader:
            items = list(reader)
        good = {item.key: item.record for item in items if isinstance(item, Stored)}
        named = {item.key for item in items if isinstance(item, Unreadable)}
        assert good.items() <= expected.items()
        assert set(expected) - set(good) <= named or "" in named


def test_no_damaged_page_hides_a_record(make_corpus, make_record):
    path = make_corpus(60)
    expected = {key_of(make_record(number)): make_record(number) for number in range(60)}
    whole = (path / "cache.db").read_bytes()
    for page in range(1, len(whole) // 4096):
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 64] = os.urandom(64)
        (path / "cache.db").write_bytes(damaged)
        try:
            with open_reader(path) as reader:
                items = list(reader)
        except (DamagedCorpusError, ForeignCorpusError):
            continue
        good = {item.key: item.record for item in items if isinstance(item, Stored)}
        assert good.items() <= expected.items()
        assert len(good) == 60 or any(isinstance(item, Unreadable) for item in items), page


def test_a_corpus_written_to_while_it_is_read_says_so(make_corpus, make_record):
    path = make_corpus(3)
    copy = path.parent / "copy"
    with open_reader(path) as reader:
        items = iter(reader)
        next(items)
        shutil.copytree(path, copy)
        with open_writer(copy) as writer:
            writer.add(make_record(99))
        os.replace(copy / "cache.db", path / "cache.db")
        with pytest.raises(ChangedCorpusError, match="written to while it was read"):
            list(items)


def test_a_corpus_that_is_being_written_can_be_read(make_corpus, make_record):
    path = make_corpus(3)
    program = f"""
import sys
from corpus import KernelRecord, Target, open_writer
with open_writer({str(path)!r}) as writer:
    writer.add(KernelRecord(kind="k", ast="live", target=Target("llvm", "x")))
    print(flush=True)
    sys.stdin.read()
"""
    live = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    live.stdout.readline()
    with open_reader(path) as reader:
        assert len(list(reader)) == 4
    live.communicate()
    assert live.returncode == 0
    assert sorted(os.listdir(path)) == ["cache.db", "corpus.state"]


def test_no_module_of_the_corpus_loads_objects():
    program = """
import sys, corpus
names = [name for name in sys.modules if name.partition(".")[0] == "corpus"]
bad = {"pickle", "marshal", "shelve", "cloudpickle", "dill", "eval", "exec"}
print([n for n in names if bad & set(vars(sys.modules[n]))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
