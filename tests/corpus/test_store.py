"""What goes into a corpus comes out of it, whoever else writes to it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import diskcache
import pytest

from corpus import (
    Added,
    ForeignCorpusError,
    FullDiskError,
    InvalidRecordError,
    LockedCorpusError,
    Provenance,
    SelectionError,
    Status,
    Stored,
    Unreadable,
    UnreadableError,
    key_of,
    open_reader,
    open_writer,
)
from corpus.store import BytesDisk

CHILD = """
import sys
from corpus import KernelRecord, Target, open_writer
path, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open_writer(path) as writer:
    for i in range(count):
        for ast in (f"own {number} {i}", f"shared {i}"):
            writer.add(KernelRecord(kind="k", ast=ast, target=Target("llvm", "x"), source="s" * 99))
            print(ast, flush=True)
"""


def test_a_record_comes_back_as_it_was_added(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        assert writer.add(make_record()) is Added.NEW
    with open_reader(tmp_path / "corpus") as reader:
        assert list(reader) == [Stored(key_of(make_record()), make_record())]


def test_asking_again_counts_and_keeps_the_first_answer(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        writer.add(make_record(source="first"))
        assert writer.add(make_record(source="second")) is Added.COUNTED
        writer.count(key_of(make_record()), 3)
    with open_reader(tmp_path / "corpus") as reader:
        (item,) = reader
    assert item.record.source == "first"
    assert item.record.provenance.occurrences == 5


def test_a_start_is_a_record_and_its_finish_completes_it_once(tmp_path, make_record):
    started = make_record(status=Status.STARTED, source=None)
    with open_writer(tmp_path / "corpus") as writer:
        assert writer.add(started) is Added.NEW
        assert open_reader(tmp_path / "corpus").read(key_of(started)).record == started
        assert writer.complete(make_record()) is Added.COMPLETED
        assert writer.add(started) is Added.COUNTED
        assert writer.complete(make_record(source="other")) is Added.KEPT
    with open_reader(tmp_path / "corpus") as reader:
        (item,) = reader
    assert item.record == make_record(
        provenance=Provenance(
            revision="8c8b8e8",
            dirty=False,
            toolchain={"llvmlite": "0.50"},
            test_id="test_a.py::a",
            occurrences=2,
        )
    )


def test_adding_a_finish_to_a_start_counts_and_completes(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        writer.add(make_record(status=Status.STARTED, source=None))
        assert writer.add(make_record()) is Added.COMPLETED
    with open_reader(tmp_path / "corpus") as reader:
        (item,) = reader
    assert (item.record.status, item.record.provenance.occurrences) == (Status.FINISHED, 2)


def test_a_record_can_be_replaced_and_removed_on_purpose(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        writer.add(make_record(source="first"))
        writer.add(make_record(1))
        writer.replace(make_record(source="second"))
        assert writer.remove(key_of(make_record(1)))
        assert not writer.remove(key_of(make_record(1)))
    with open_reader(tmp_path / "corpus") as reader:
        assert [item.record.source for item in reader] == ["second"]


def test_records_written_by_four_processes_at_once_are_all_there_and_counted(tmp_path):
    path = tmp_path / "corpus"
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, path, str(number), "60"])
        for number in range(4)
    ]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    with open_reader(path) as reader:
        counts = {item.record.ast: item.record.provenance.occurrences for item in reader}
    assert len(counts) == 4 * 60 + 60
    assert {counts[f"shared {i}"] for i in range(60)} == {4}
    assert {counts[f"own {n} {i}"] for i in range(60) for n in range(4)} == {1}


def test_what_a_killed_writer_acknowledged_is_there(tmp_path):
    path = tmp_path / "corpus"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, path, "0", "100000"], stdout=subprocess.PIPE, text=True
    )
    printed = [child.stdout.readline().strip() for _ in range(50)]
    child.kill()
    printed += [line.strip() for line in child.stdout if line.endswith("\n")]
    child.wait()
    with open_reader(path) as reader:
        items = list(reader)
    assert not [item for item in items if isinstance(item, Unreadable)]
    assert {item.record.ast for item in items} >= set(printed)


def test_threads_may_share_a_writer(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        threads = [
            threading.Thread(target=lambda: [writer.add(make_record(i)) for i in range(30)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with open_reader(tmp_path / "corpus") as reader:
        assert [item.record.provenance.occurrences for item in reader] == [4] * 30


def test_a_forked_child_goes_on_with_its_parents_writer(tmp_path):
    program = f"""
import os
from corpus import KernelRecord, Target, open_writer
def record(n): return KernelRecord(kind="k", ast=f"ast {{n}}", target=Target("llvm", "x"))
writer = open_writer({str(tmp_path / "corpus")!r})
writer.add(record(0))
read, write = os.pipe()
if os.fork():
    writer.add(record(1))
    os.write(write, b"x")
    os._exit(0)  # the child goes on alone, and must not lose what it adds
os.read(read, 1)
for n in range(2, 40):
    writer.add(record(n))
os._exit(0)
"""
    # the pipe ends when the child does
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    with open_reader(tmp_path / "corpus") as reader:
        assert len(list(reader)) == 40


def test_a_locked_corpus_is_waited_for_and_then_named(tmp_path, make_corpus, make_record):
    path = make_corpus(1)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute('BEGIN IMMEDIATE')\n"
            "print(flush=True)\nsys.stdin.read()",
            path / "cache.db",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    holder.stdout.readline()
    with pytest.raises(LockedCorpusError, match=r"locked by another process for 0\.1 s"):
        open_writer(path, wait_s=0.1)
    with pytest.raises(LockedCorpusError, match=r"locked by another process for 0\.1 s"):
        open_reader(path, wait_s=0.1)
    holder.communicate()
    with open_writer(path, wait_s=0.1) as writer:
        assert writer.add(make_record(1)) is Added.NEW


def test_a_writer_that_waited_in_vain_counts_the_record_as_lost(tmp_path, make_record):
    path = tmp_path / "corpus"
    with open_writer(path, wait_s=0.1) as writer:
        other = sqlite3.connect(path / "cache.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedCorpusError) as caught:
            writer.add(make_record())
        assert caught.value.path == path
        with pytest.raises(LockedCorpusError, match="for 0 s"):  # does not wait twice
            writer.add(make_record())
        assert writer.lost == 1
        assert open_reader(path, allow_empty=True).lost == 1
        other.execute("ROLLBACK")
        writer.add(make_record())
        assert writer.lost == 0
        other.close()
    with open_reader(path) as reader:
        assert reader.lost == 0


def test_a_writer_refuses_settings_that_would_run_as_statements(tmp_path, make_corpus):
    path = make_corpus(1)
    with sqlite3.connect(path / "cache.db") as database:
        database.execute("INSERT INTO Settings VALUES ('sqlite_writable_schema', 1)")
    with pytest.raises(ForeignCorpusError, match="setting 'sqlite_writable_schema'"):
        open_writer(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_fills_up_loses_nothing_acknowledged(tmp_path, make_record):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        refused = []
        noise = os.urandom(40_000).hex()
        with open_writer(place / "corpus") as writer:
            for number in range(40):
                try:
                    writer.add(make_record(number, source=noise))
                except FullDiskError as error:
                    refused.append(error.path)
        assert 0 < len(refused) < 40
        assert set(refused) == {place / "corpus"}
        with open_reader(place / "corpus") as reader:
            items = list(reader)
            assert (reader.lost, writer.lost) == (len(refused), len(refused))
        assert len(items) == 40 - len(refused)
        assert all(isinstance(item, Stored) for item in items)
    finally:
        subprocess.run(["umount", place], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving up rights needs root")
def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o755)
    program = f"""
import os
from corpus import CorpusError, open_writer
os.setuid(65534)
try:
    open_writer({str(place / "corpus")!r})
except CorpusError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    place.rmdir()
    assert done.stdout.startswith(f"ReadOnlyCorpusError corpus {place}/corpus: cannot be written")


def test_a_writer_refuses_a_directory_with_other_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ForeignCorpusError, match=r"holds 'notes.txt'"):
        open_writer(tmp_path)
    diskcache.Cache(tmp_path / "cache").close()
    with pytest.raises(ForeignCorpusError, match=r"no corpus.state"):
        open_writer(tmp_path / "cache")
    assert sorted(os.listdir(tmp_path)) == ["cache", "notes.txt"]


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        with writer.batch():
            for number in range(5):
                writer.add(make_record(number))
        with pytest.raises(UnreadableError):
            _add_two(writer, make_record(5), make_record(6))
        writer.add(make_record(7))
    with open_reader(tmp_path / "corpus") as reader:
        names = {item.record.name for item in reader}
    assert names == {f"e_{number}" for number in (0, 1, 2, 3, 4, 7)}


def _add_two(writer, good, bad):
    def fail(old):
        raise UnreadableError("value: not whole")

    with writer.batch():
        writer.add(good)
        writer.update(key_of(bad), fail)


def test_a_record_that_cannot_be_stored_is_counted_as_lost(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        with pytest.raises(InvalidRecordError):
            writer.add(make_record(source=5))
        with pytest.raises(InvalidRecordError):
            writer.complete(make_record(options={"x": float("nan")}))
        assert writer.lost == 2
        writer.note_lost(3)
    with open_reader(tmp_path / "corpus", allow_empty=True) as reader:
        assert reader.lost == 5


def test_a_damaged_baseline_is_not_overwritten_by_asking_again(make_corpus, make_record):
    path = make_corpus(1)
    with sqlite3.connect(path / "cache.db") as database:
        database.execute("UPDATE Cache SET value = CAST(substr(value, 1, 99) || 'x' AS BLOB)")
    with open_writer(path) as writer:
        with pytest.raises(UnreadableError):
            writer.add(make_record(0))
        assert writer.lost == 1
        writer.replace(make_record(0))
        assert writer.lost == 0
    with open_reader(path) as reader:
        assert list(reader) == [Stored(key_of(make_record(0)), make_record(0))]


def test_counting_what_is_not_there_is_an_error(make_corpus):
    with open_writer(make_corpus(1)) as writer, pytest.raises(SelectionError, match="add it"):
        writer.count("0" * 64)


@pytest.mark.parametrize("key", [5, b"key", ("a",), None])
def test_the_disk_refuses_keys_that_are_not_text(tmp_path, key):
    with pytest.raises(InvalidRecordError, match="where text belongs"):
        BytesDisk(tmp_path).put(key)


@pytest.mark.parametrize("value", ["text", 5, 1.5, ("a",), None, bytearray(b"x")])
def test_the_disk_refuses_values_that_are_not_bytes(tmp_path, value):
    with pytest.raises(InvalidRecordError, match="where bytes belong"):
        BytesDisk(tmp_path).store(value, False)


@pytest.mark.parametrize("mode", [2, 3, 4])
def test_the_disk_loads_no_object_and_opens_no_file(tmp_path, mode):
    with pytest.raises(UnreadableError, match="nothing was loaded"):
        BytesDisk(tmp_path).fetch(mode, None, b"cos\nsystem\n", False)
    with pytest.raises(UnreadableError, match="nothing was loaded"):
        BytesDisk(tmp_path).fetch(1, "../secret", None, False)


def test_the_disk_removes_no_file_that_a_row_names(tmp_path):
    (tmp_path / "precious").write_text("mine")
    BytesDisk(tmp_path / "corpus").remove("../precious")
    assert (tmp_path / "precious").exists()
