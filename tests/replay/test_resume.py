"""A replay that was interrupted, and the one that goes on from there."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import DIFFERENCE, before_compiling, make_corpus, patched, record_of

from replay.outcome import Outcome, Result
from replay.phases.journal import Entry, Journal, Phase

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hanging(tmp_path):
    """A corpus, and a compiler that hangs at its last kernel while a file is there."""
    (tmp_path / "flag").touch()
    corpus = make_corpus(
        tmp_path / "c", [record_of(DIFFERENCE.format(size=size)) for size in range(2, 8)]
    )
    trap = before_compiling(
        "import os; from compiler.ir import Op, toposort",
        "size = [n for n in toposort(ast) if n.op is Op.BUFFER][0].attr[1]",
        "if size == 5: os.abort()",
        f"while size == 3 and os.path.exists({str(tmp_path / 'flag')!r}): pass",
    )
    return corpus, patched(tmp_path / "copy", trap)


def command(hanging, tmp_path, *options):
    corpus, copy = hanging
    words = [sys.executable, "-m", "replay.cli", "run", "--corpus", corpus, "--compiler", copy]
    words += ["--verify", "none", "--no-skip", "--report", f"json:{tmp_path / 'report'}", *options]
    return [str(word) for word in words]


def interrupted(hanging, tmp_path, number):
    """Replay until something is in the journal and only the hanging kernel is left."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.Popen(command(hanging, tmp_path), cwd=ROOT, env=environ)
    while not list(tmp_path.glob("cache/*/*.journal")):
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(number)
    return process.wait(timeout=60)


def resumed(hanging, tmp_path):
    (tmp_path / "flag").unlink()
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = command(hanging, tmp_path, "--resume")
    done = subprocess.run(words, cwd=ROOT, env=environ, check=False, capture_output=True)
    return done.returncode, json.loads((tmp_path / "report").read_text())


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 130),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_an_interrupted_replay_goes_on_where_it_ended(hanging, tmp_path, number, code):
    assert interrupted(hanging, tmp_path, number) == code
    if code == 130:
        totals = json.loads((tmp_path / "report").read_text())["totals"]
        assert totals["records"] == 6
        assert totals["skipped"] >= 1
    code, report = resumed(hanging, tmp_path)
    counts = {name: count for name, count in report["totals"].items() if count}
    assert (code, counts) == (1, {"records": 6, "same": 5, "crash": 1})
    (note,) = [note for note in report["notes"] if "before the interruption" in note]
    before = int(note.split()[0])
    checked_twice = 5
    assert before >= 1
    assert before + report["compiles"] == 6 + checked_twice


def test_a_replay_that_ended_leaves_nothing_to_resume(hanging, tmp_path):
    code, report = resumed(hanging, tmp_path)
    assert (code, report["totals"]["same"]) == (1, 5)
    assert not list(tmp_path.glob("cache/*/*.journal"))


def entry(key="a", digest=b"d", outcome=Outcome.SAME):
    return Entry(Phase.COMPILED, digest, Result(key=key, outcome=outcome))


def journal(path, identity="i", *, resumes=True):
    return Journal(path, lambda: identity, resumes=resumes)


@pytest.fixture
def path(tmp_path):
    """A journal with two entries, whose replay was interrupted."""
    first = journal(tmp_path / "j")
    first.note(entry("a"))
    first.note(entry("b", outcome=Outcome.CRASH))
    first.end(is_finished=False)
    return tmp_path / "j"


def test_a_journal_gives_what_was_noted(path):
    assert journal(path).find(Phase.COMPILED, "b", b"d") == entry("b", outcome=Outcome.CRASH)


def test_a_journal_of_other_code_is_not_believed(path):
    assert journal(path, "other").find(Phase.COMPILED, "a", b"d") is None


def test_a_record_that_has_changed_since_is_not_found(path):
    assert journal(path).find(Phase.COMPILED, "a", b"other") is None


def test_a_journal_is_only_read_to_resume(path):
    assert journal(path, resumes=False).find(Phase.COMPILED, "a", b"d") is None


def test_every_cut_of_a_journal_gives_whole_entries_or_none(path):
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        found = journal(path).find(Phase.COMPILED, "a", b"d")
        assert found in (None, entry("a"))


def test_a_resumed_journal_keeps_what_it_had(path):
    second = journal(path)
    second.note(entry("c"))
    second.end(is_finished=False)
    third = journal(path)
    assert all(third.find(Phase.COMPILED, key, b"d") for key in "abc")


def test_two_replays_do_not_write_one_journal(path):
    first, second = journal(path), journal(path)
    first.note(entry("c"))
    second.note(entry("d"))
    second.end(is_finished=False)
    first.end(is_finished=False)
    assert journal(path).find(Phase.COMPILED, "d", b"d") is None
    assert journal(path).find(Phase.COMPILED, "c", b"d") is not None


def test_a_place_that_cannot_be_written_keeps_nothing_and_harms_nothing():
    lost = journal(Path("/proc/nothing/j"))
    lost.note(entry())
    lost.end(is_finished=True)
