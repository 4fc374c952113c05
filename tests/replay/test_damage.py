"""A corpus of 400 in which five records are damaged: just those are named, and nothing is run."""

import json
import os
import pickle
import shutil
import sqlite3
import sys

import msgspec
import pytest
from programs import DIFFERENCE, keys_of, make_corpus, record_of, run

from corpus import check_corpus, open_reader, open_writer

RECORDS = 400


class Planted:
    """An object that leaves a file behind where somebody unpickles it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mknod, (str(self.path),)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Kernels that differ in size alone."""
    records = [record_of(DIFFERENCE.format(size=size)) for size in range(1, RECORDS + 1)]
    return make_corpus(tmp_path_factory.mktemp("corpora") / "whole", records)


@pytest.fixture
def damaged(whole, tmp_path):
    """A copy of it, the keys that are damaged, and the file that an unpickled object would make."""
    path, trap = tmp_path / "corpus", tmp_path / "trap"
    with open_reader(whole) as reader, open_writer(path) as writer:
        for item in reader:
            writer.add(item.record)
    keys = keys_of(path)
    flipped, cut, one, other, planted = keys[7], keys[100], keys[200], keys[300], keys[399]
    database = sqlite3.connect(path / "cache.db")
    values = dict(database.execute("SELECT key, value FROM Cache"))

    def put(key, value, mode=1):
        database.execute("UPDATE Cache SET value = ?, mode = ? WHERE key = ?", (value, mode, key))

    middle = len(values[flipped]) // 2
    byte = bytes([values[flipped][middle] ^ 0x10])
    put(flipped, values[flipped][:middle] + byte + values[flipped][middle + 1 :])
    put(cut, values[cut][:-30])
    put(one, values[other])
    put(other, values[one])
    put(planted, pickle.dumps(Planted(trap)), mode=4)
    database.commit()
    database.close()
    return path, sorted((flipped, cut, one, other, planted)), trap


def test_check_names_the_damaged_records_and_no_other(capsys, damaged):
    path, keys, trap = damaged
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path)
    named = sorted(
        line.split()[1].rstrip(":") for line in out.splitlines() if "unreadable " in line
    )
    assert (code, named, trap.exists()) == (1, keys, False)
    assert f"{RECORDS} records, 5 unreadable" in out


def test_run_names_the_damaged_records_and_no_other(capsys, damaged, tmp_path):
    path, keys, trap = damaged
    report = tmp_path / "report.json"
    words = ("run", "--corpus", path, "--no-skip", "--verify", "none", "--report", f"json:{report}")
    code, _, _ = run(capsys, *words)
    document = json.loads(report.read_text())
    named = [item["key"] for item in document["records"] if item["outcome"] == "unreadable"]
    assert (sorted(named), trap.exists()) == (keys, False)
    assert (document["totals"]["same"], document["totals"]["records"]) == (RECORDS - 5, RECORDS)
    assert code in (1, 3)


def test_repair_keeps_all_that_is_whole(capsys, damaged):
    path, keys, trap = damaged
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path, "--repair")
    assert (code, out.count("dropped "), trap.exists()) == (0, 5, False)
    with open_reader(path) as reader:
        check = check_corpus(reader)
        left = list(reader.keys())
    assert (check.is_whole, check.records, check.lost) == (True, RECORDS - 5, 5)
    assert not set(keys) & set(left)
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path)
    assert (code, "5 records were lost, while it was captured or by a repair" in out) == (0, True)


def test_check_says_the_same_as_json(capsys, damaged):
    path, keys, _ = damaged
    code, out, _ = run(capsys, "corpus", "check", "--json", "--corpus", path)
    document = json.loads(out)
    assert (code, document["is_whole"], document["records"]) == (1, False, RECORDS)
    assert sorted(item["key"] for item in document["unreadable"]) == keys
    assert all(item["reason"] for item in document["unreadable"])


@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_a_database_that_was_cut_is_never_a_smaller_corpus(capsys, whole, tmp_path, share):
    path = tmp_path / "corpus"
    shutil.copytree(whole, path)
    os.truncate(path / "cache.db", int(os.path.getsize(path / "cache.db") * share))
    expected = RECORDS if share else 1
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path)
    assert (code, f"{expected} records, " in out, "damaged: " in out) == (1, True, True)
    report = tmp_path / "report.json"
    words = ("run", "--corpus", path, "--verify", "none", "--report", f"json:{report}")
    code, _, _ = run(capsys, *words)
    document = json.loads(report.read_text())
    assert code in (1, 3)
    assert document["totals"]["records"] == expected
    assert document["totals"]["unreadable"] > 0


def test_a_planted_object_under_a_key_of_its_own_is_named(capsys, whole, tmp_path):
    path, trap = tmp_path / "corpus", tmp_path / "trap"
    with open_reader(whole) as reader, open_writer(path) as writer:
        for item, _ in zip(reader, range(3), strict=False):
            writer.add(msgspec.structs.replace(item.record))
    with sqlite3.connect(path / "cache.db") as database:
        database.execute(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, value)"
            " VALUES (?, 0, 0, 0, 1, x'00')",
            (pickle.dumps(Planted(trap)),),
        )
    database.close()
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path)
    assert (code, trap.exists()) == (1, False)
    assert "4 records, 1 unreadable" in out


# --- a database that was cut, or is gone ---


@pytest.fixture
def halved(whole, tmp_path):
    path = shutil.copytree(whole, tmp_path / "halved")
    os.truncate(path / "cache.db", (path / "cache.db").stat().st_size // 2)
    return path


def test_run_on_a_cut_database_counts_what_is_out_of_reach(capsys, halved, tmp_path):
    words = ("run", "--corpus", halved, "--verify", "none", "--determinism", "none")
    code, out, err = run(capsys, *words, "--report", f"json:{tmp_path / 'report'}")
    totals = json.loads((tmp_path / "report").read_text())["totals"]
    unread = totals["unreadable"]
    assert (code, totals["records"], totals["same"]) == (3, RECORDS, RECORDS - unread)
    assert 0 < unread < RECORDS
    assert f"damaged, {unread} of its {RECORDS} records are out of reach" in err
    assert "gate failed: the corpus is damaged: the database is cut" in out


def test_parts_of_a_cut_database_are_damaged_too(capsys, halved, tmp_path):
    parts = [tmp_path / f"part-{number}" for number in (1, 2)]
    words = ("run", "--corpus", halved, "--verify", "none", "--determinism", "none")
    for number, part in enumerate(parts, 1):
        assert run(capsys, *words, "--shard", f"{number}/2", "--report", f"part:{part}")[0] == 3
    code, out, _ = run(capsys, "merge", *parts)
    assert (code, f"= {RECORDS} records" in out) == (3, True)


@pytest.mark.parametrize("shard", ["1/1", "1/2", "2/2"])
def test_run_and_capture_refuse_a_corpus_whose_database_is_gone(capsys, whole, tmp_path, shard):
    path = shutil.copytree(whole, tmp_path / "corpus")
    os.truncate(path / "cache.db", 0)
    code, _, err = run(capsys, "run", "--corpus", path, "--shard", shard)
    assert (code, "it is damaged" in err) == (3, True)
    code, _, err = run(capsys, "capture", "--corpus", path, "--", sys.executable, "-c", "")
    assert (code, "its database is gone" in err) == (3, True)


def test_a_repaired_corpus_says_how_its_records_came_to_be_lost(capsys, whole, tmp_path):
    path = shutil.copytree(whole, tmp_path / "corpus")
    (path / "corpus.state").write_text("nonsense")
    code, out, _ = run(capsys, "corpus", "check", "--corpus", path, "--repair")
    assert (code, "its count of lost records was damaged: 1 is assumed" in out) == (0, True)
    _, out, _ = run(capsys, "corpus", "check", "--corpus", path)
    assert "incomplete: 1 record was lost, while it was captured or by a repair" in out
    assert run(capsys, "corpus", "check", "--corpus", path, "--forget-lost")[0] == 0
    assert "incomplete" not in run(capsys, "corpus", "check", "--corpus", path)[1]
