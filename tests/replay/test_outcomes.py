"""Every outcome, reached through the command line."""

import json
import sqlite3

import msgspec
import pytest
from programs import (
    DIFFERENCE,
    DROP_AN_OPT,
    FORGET_UNROLL,
    HASH_IN_THE_SOURCE,
    RENAME,
    ROW_SUMS,
    SPACING,
    SWAP_SUB,
    before_compiling,
    keys_of,
    make_corpus,
    patched,
    record_of,
    run,
    small_corpus,
)

from corpus import Status
from replay.outcome import Outcome
from replay.patched import Patch

ONE = DIFFERENCE.format(size=4)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_corpus(tmp_path_factory.mktemp("corpora") / "small")


@pytest.fixture
def one(tmp_path):
    """A corpus of one kernel."""
    return make_corpus(tmp_path / "one", [record_of(ONE)])


def replay(capsys, tmp_path, corpus, *options):
    """Exit code and JSON report of a run without numerics."""
    path = tmp_path / "report.json"
    path.unlink(missing_ok=True)
    words = ("run", "--corpus", corpus, "--verify", "none", "--report", f"json:{path}")
    cheap = ("--determinism", "none", "--jobs", "1")
    code, _, err = run(capsys, *words, *cheap, *options)
    assert "Traceback" not in err
    report = json.loads(path.read_text())
    counts = {name: count for name, count in report["totals"].items() if count}
    assert counts.pop("records") == sum(counts.values())
    return code, counts, report


def test_an_unchanged_compiler_gives_the_same(capsys, tmp_path, corpus):
    code, counts, _ = replay(capsys, tmp_path, corpus)
    assert (code, counts) == (0, {"same": 16})


def test_free_mode_of_an_unchanged_compiler_gives_the_same(capsys, tmp_path, corpus):
    code, counts, _ = replay(capsys, tmp_path, corpus, "--mode", "free")
    assert (code, counts) == (0, {"same": 16})


def test_other_names_are_renamed_and_pass(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", RENAME)
    code, counts, _ = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert code == 0
    assert set(counts) <= {"same", "renamed"}
    assert counts["renamed"] == 6


def test_a_swapped_operand_is_code_and_fails(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", SWAP_SUB)
    options = ("--compiler", copy, "--determinism", "changed")
    code, counts, report = replay(capsys, tmp_path, corpus, *options)
    assert (code, counts) == (1, {"same": 10, "code": 6})
    assert {r["stage"] for r in report["records"] if r["outcome"] == "code"} == {"render"}
    assert [cluster["count"] for cluster in report["clusters"]] == [6]


def test_a_change_of_spacing_is_one_cluster(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", SPACING)
    code, counts, report = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert (code, counts) == (1, {"same": 10, "code": 6})
    assert len(report["clusters"]) == 1


def test_another_choice_is_opts_in_free_mode_and_nothing_in_pinned(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", DROP_AN_OPT)
    code, counts, _ = replay(capsys, tmp_path, corpus, "--compiler", copy, "--mode", "free")
    assert code == 1
    assert set(counts) == {"same", "opts"}
    code, counts, _ = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert (code, counts) == (0, {"same": 16})


def test_a_launch_size_alone_is_code(capsys, tmp_path, corpus):
    halve = Patch(
        "compiler/compile.py",
        "launch = launch_of(program)",
        "launch = launch_of(program)\n"
        "    launch = type(launch)(tuple(s // 2 for s in launch.global_size), launch.local_size)",
    )
    copy = patched(tmp_path / "copy", halve)
    code, counts, report = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert code == 1
    assert set(counts) <= {"same", "code"}
    changed = [record for record in report["records"] if record["outcome"] == "code"]
    assert changed
    assert all(record["facets"] == ["launch"] for record in changed)


def test_an_opt_that_is_no_more_is_an_error(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ROW_SUMS.format(rows=3, columns=12, all=36))])
    copy = patched(tmp_path / "copy", FORGET_UNROLL)
    code, counts, report = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert (code, counts) == (1, {"error": 1})
    assert "opt 'UNROLL' is unknown" in report["records"][0]["reason"]


def test_an_op_that_is_unknown_is_an_error(capsys, tmp_path):
    record = msgspec.structs.replace(record_of(ONE), ast=ONE.replace("SUB", "HYPOT"))
    code, counts, _ = replay(capsys, tmp_path, make_corpus(tmp_path / "c", [record]))
    assert (code, counts) == (1, {"error": 1})


def test_a_compile_that_failed_and_fails_alike_is_the_same(capsys, tmp_path):
    fail = before_compiling("raise CompilerError('no such luck')")
    copy = patched(tmp_path / "copy", fail)
    failed = record_of(ONE, status=Status.FAILED, error="no such luck", source=None, applied=None)
    corpus = make_corpus(tmp_path / "c", [failed])
    code, counts, _ = replay(capsys, tmp_path, corpus, "--compiler", copy)
    assert (code, counts) == (0, {"same": 1})


@pytest.mark.parametrize("status", [Status.FAILED, Status.STARTED])
def test_a_compile_that_failed_and_succeeds_is_fixed(capsys, tmp_path, status):
    failed = record_of(ONE, status=status, error=None, source=None, applied=None)
    code, counts, _ = replay(capsys, tmp_path, make_corpus(tmp_path / "c", [failed]))
    assert (code, counts) == (1, {"fixed": 1})


@pytest.mark.parametrize(
    ("outcome", "statements", "reason"),
    [
        ("crash", ["import os; os.abort()"], "signal 6 (SIGABRT)"),
        ("crash", ["import ctypes; ctypes.string_at(0)"], "signal 11 (SIGSEGV)"),
        ("crash", ["{}['axis']"], "KeyError: 'axis'"),
        ("timeout", ["while True: pass"], "no answer within 2 s"),
        ("memory", ["bytearray(1 << 40)"], "MemoryError"),
    ],
)
def test_a_compile_that_ends_badly_is_named(capsys, tmp_path, one, outcome, statements, reason):
    copy = patched(tmp_path / "copy", before_compiling(*statements))
    code, counts, report = replay(
        capsys, tmp_path, one, "--compiler", copy, "--record-timeout", "2"
    )
    assert (code, counts) == (1, {outcome: 1})
    assert report["records"][0]["reason"].startswith(reason)


def test_a_source_that_depends_on_the_hash_seed_is_nondeterministic(capsys, tmp_path, one):
    copy = patched(tmp_path / "copy", HASH_IN_THE_SOURCE)
    options = ("--compiler", copy, "--determinism", "changed")
    code, counts, _ = replay(capsys, tmp_path, one, *options)
    assert (code, counts) == (1, {"nondeterministic": 1})


def test_a_text_that_is_no_ast_is_unreadable_and_nothing_was_replayed(capsys, tmp_path):
    record = msgspec.structs.replace(record_of(ONE), ast="ir 1\n%0 = nonsense\n")
    code, counts, _ = replay(capsys, tmp_path, make_corpus(tmp_path / "c", [record]))
    assert (code, counts) == (3, {"unreadable": 1})


def test_a_kind_that_is_unknown_is_unreadable(capsys, tmp_path):
    records = [record_of(ONE), msgspec.structs.replace(record_of(ONE, "opencl"), kind="oldpkg")]
    code, counts, _ = replay(capsys, tmp_path, make_corpus(tmp_path / "c", records))
    assert (code, counts) == (1, {"same": 1, "unreadable": 1})


def test_a_flipped_byte_is_unreadable(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    damaged = keys_of(corpus)[0]
    with sqlite3.connect(corpus / "cache.db") as database:
        (value,) = database.execute("SELECT value FROM Cache WHERE key = ?", [damaged]).fetchone()
        flipped = value[:-1] + bytes([value[-1] ^ 1])
        database.execute("UPDATE Cache SET value = ? WHERE key = ?", [flipped, damaged])
    database.close()
    code, counts, report = replay(capsys, tmp_path, corpus)
    assert (code, counts) == (1, {"same": 1, "unreadable": 1})
    (bad,) = [record for record in report["records"] if record["outcome"] == "unreadable"]
    assert bad["key"] == damaged


def test_what_is_behind_the_limit_of_changes_is_skipped(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", SPACING)
    options = ("--compiler", copy, "--max-changes", "1")
    code, counts, report = replay(capsys, tmp_path, corpus, *options)
    assert code == 1
    assert sum(counts.values()) == 16
    reasons = {r["reason"] for r in report["records"] if r["outcome"] == "skipped"}
    assert reasons == {"stopped after 1 changes"}


def test_what_is_behind_the_time_budget_is_skipped(capsys, tmp_path, corpus):
    code, counts, _ = replay(capsys, tmp_path, corpus, "--time-budget", "0")
    assert (code, counts) == (3, {"skipped": 16})


def test_a_second_capture_shows_new_and_missing(capsys, tmp_path):
    old = make_corpus(tmp_path / "old", [record_of(ONE), record_of(ONE, "opencl")])
    other = record_of(DIFFERENCE.format(size=9))
    new = make_corpus(tmp_path / "new", [record_of(ONE), other])
    code, counts, _ = replay(capsys, tmp_path, old, "--fresh", new)
    assert (code, counts) == (1, {"same": 1, "missing": 1, "new": 1})


REACHED_BY = {
    "same": test_an_unchanged_compiler_gives_the_same,
    "renamed": test_other_names_are_renamed_and_pass,
    "opts": test_another_choice_is_opts_in_free_mode_and_nothing_in_pinned,
    "code": test_a_swapped_operand_is_code_and_fails,
    "error": test_an_opt_that_is_no_more_is_an_error,
    "fixed": test_a_compile_that_failed_and_succeeds_is_fixed,
    "crash": test_a_compile_that_ends_badly_is_named,
    "timeout": test_a_compile_that_ends_badly_is_named,
    "memory": test_a_compile_that_ends_badly_is_named,
    "nondeterministic": test_a_source_that_depends_on_the_hash_seed_is_nondeterministic,
    "unreadable": test_a_flipped_byte_is_unreadable,
    "skipped": test_what_is_behind_the_time_budget_is_skipped,
    "new": test_a_second_capture_shows_new_and_missing,
    "missing": test_a_second_capture_shows_new_and_missing,
}


def test_every_outcome_is_reached_through_the_command_line():
    assert sorted(REACHED_BY) == sorted(outcome.value for outcome in Outcome)
