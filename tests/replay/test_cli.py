import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import (
    DIFFERENCE,
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

from corpus import Provenance
from replay.cli import COMMANDS

ROOT = Path(__file__).parents[2]
REPLAY = (sys.executable, "-m", "replay.cli")
ONE = DIFFERENCE.format(size=4)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_corpus(tmp_path_factory.mktemp("corpora") / "small")


@pytest.mark.parametrize("words", [["--help"], *[[name, "--help"] for name, _, _ in COMMANDS]])
def test_every_command_has_help(capsys, words):
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.startswith("Usage: replay")


def test_the_version_is_printed(capsys):
    code, out, _ = run(capsys, "--version")
    assert (code, out.startswith("kernel-replay ")) == (0, True)


def test_help_imports_neither_numpy_nor_rich_nor_a_compiler():
    code = (
        "import sys; from replay.cli import main; main(['--help']);"
        "print({'numpy', 'rich', 'compiler', 'corpus', 'diskcache'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    "words",
    [
        ["rum"],
        ["run"],
        ["run", "--corpus"],
        ["run", "--corpus", "c", "--mode", "loose"],
        ["run", "--corpus", "c", "--report", "pdf:x"],
        ["run", "--corpus", "c", "--report", "json:/nowhere/at/all"],
        ["accept", "--corpus", "c"],
        ["run", "--corpus", "c", "--policy", "nosuch.toml"],
        ["merge", "part", "--policy", "nosuch.toml"],
        ["diff", "--corpus", "c"],
        ["capture", "--corpus", "c"],
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(capsys, words):
    code, _, err = run(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)


def make_empty(tmp):
    (tmp / "x").mkdir()


def make_foreign(tmp):
    (tmp / "x").mkdir()
    (tmp / "x" / "data.csv").touch()


def make_file(tmp):
    (tmp / "x").write_text("hello")


@pytest.mark.parametrize("make", [lambda tmp: None, make_empty, make_foreign, make_file])
@pytest.mark.parametrize("command", [["run"], ["list"], ["corpus", "stat"], ["verify"]])
def test_what_is_no_corpus_is_one_line_and_exit_code_3(capsys, tmp_path, make, command):
    make(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    code, _, err = run(capsys, *command, "--corpus", tmp_path / "x")
    assert (code, err.count("\n")) == (3, 1)
    assert str(tmp_path / "x") in err
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_locked_corpus_is_one_line_and_exit_code_3(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    lock = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    lock += "c.execute('PRAGMA locking_mode=EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE')\n"
    lock += "print('locked', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", lock, str(corpus / "cache.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        code, _, err = run(capsys, "run", "--corpus", corpus)
        holder.stdin.close()
    assert (code, err.count("\n")) == (3, 1)
    assert "locked" in err


def test_a_selection_of_nothing_is_one_line_and_no_report(capsys, corpus):
    code, out, err = run(capsys, "run", "--corpus", corpus, "--only", "nomatch")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "no record was chosen" in err


def test_debug_shows_the_traceback(capsys, tmp_path):
    code, _, err = run(capsys, "--debug", "list", "--corpus", tmp_path / "x")
    assert code == 3
    assert "Traceback" in err


def test_a_compiler_that_cannot_be_imported_is_one_line_and_exit_code_3(capsys, tmp_path, corpus):
    (tmp_path / "compiler").mkdir()
    (tmp_path / "compiler" / "__init__.py").write_text("raise ImportError('half a compiler')")
    code, _, err = run(capsys, "run", "--corpus", corpus, "--compiler", tmp_path)
    assert (code, err.count("\n")) == (3, 1)
    assert "half a compiler" in err


def test_list_prints_one_record_a_line_key_first(capsys, corpus):
    _, out, _ = run(capsys, "list", "--corpus", corpus)
    assert [line.split()[0] for line in out.splitlines()] == [k[:12] for k in keys_of(corpus)]


def test_list_selects_by_target_and_name(capsys, corpus):
    _, out, _ = run(capsys, "list", "--corpus", corpus, "--target", "llvm", "--only", "r_*")
    assert len(out.splitlines()) == 2


def test_show_prints_the_ast_and_the_source(capsys, corpus):
    _, out, _ = run(capsys, "show", keys_of(corpus)[0][:8], "--corpus", corpus)
    assert "\nir 1\n" in out
    assert "define void" in out or "__kernel" in out


def test_show_as_json_has_every_field(capsys, corpus):
    key = keys_of(corpus)[0]
    _, out, _ = run(capsys, "show", key, "--corpus", corpus, "--json")
    document = json.loads(out)
    assert document["key"] == key
    assert {"ast", "source", "applied", "stages", "launch", "provenance"} <= document.keys()


def test_an_ambiguous_key_is_refused(capsys, corpus):
    code, _, err = run(capsys, "show", "", "--corpus", corpus)
    assert (code, err.count("\n")) == (3, 1)


def test_diff_shows_what_changed_and_where_it_began(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    copy = patched(tmp_path / "copy", SWAP_SUB)
    words = ("diff", keys_of(corpus)[0][:8], "--corpus", corpus, "--compiler", copy)
    code, out, _ = run(capsys, *words, "--verify", "none")
    assert code == 1
    assert "first difference: render" in out
    assert "\n-   %sub0 = fsub" in out
    assert "\n+   %sub0 = fsub" in out


def test_diff_of_two_records_names_the_fields(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    code, out, _ = run(capsys, "diff", *keys_of(corpus), "--corpus", corpus)
    assert code == 1
    assert "source:" in out


def test_accept_with_update_makes_the_answer_the_baseline(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    copy = patched(tmp_path / "copy", SPACING)
    options = ("--corpus", corpus, "--compiler", copy)
    assert run(capsys, "run", *options)[0] == 1
    code, out, _ = run(capsys, "accept", *options, "--update")
    assert (code, out.splitlines()[-1]) == (0, f"1 new baselines in {corpus}")
    assert run(capsys, "run", *options)[0] == 0


def test_accept_with_update_changes_only_the_lines_of_a_text_archive_that_changed(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    text = tmp_path / "seeds.txt"
    run(capsys, "corpus", "export", text, "--corpus", corpus)
    before = text.read_text().splitlines()
    copy = patched(tmp_path / "copy", SPACING)
    options = ("--corpus", text, "--compiler", copy)
    assert run(capsys, "accept", *options, "--update")[0] == 0
    after = text.read_text().splitlines()
    (seen,) = [number for number, line in enumerate(after) if line.startswith("numerics")]
    del after[seen]  # what running the kernel showed
    assert len(before) == len(after)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert all("  = " in line or line.startswith("checksum") for line in changed)
    assert run(capsys, "run", *options)[0] == 0


def test_accept_of_a_cluster_that_does_not_exist_is_refused(capsys, corpus):
    words = ("accept", "--corpus", corpus, "--cluster", "9", "--reason", "x")
    code, _, err = run(capsys, *words)
    assert (code, "cluster 9 does not exist" in err) == (2, True)


def test_verify_prints_a_line_for_each_kernel(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    code, out, _ = run(capsys, "verify", "--corpus", corpus)
    assert code == 0
    assert out.splitlines()[0].startswith(f"{keys_of(corpus)[0][:12]}  exact")
    assert out.splitlines()[-1] == "1 kernels: 1 exact"


def test_corpus_check_names_nothing_in_a_whole_corpus(capsys, corpus):
    code, out, _ = run(capsys, "corpus", "check", "--corpus", corpus)
    assert (code, out) == (0, "16 records, 0 unreadable\n")


def test_merge_of_two_corpora_is_a_union(capsys, tmp_path):
    one = make_corpus(tmp_path / "one", [record_of(ONE)])
    two = make_corpus(tmp_path / "two", [record_of(ONE), record_of(ONE, "opencl")])
    code, out, _ = run(capsys, "corpus", "merge", two, "--corpus", one)
    assert (code, out) == (0, f"{two}: 1 added, 1 there already\n")
    assert keys_of(one) == keys_of(two)


def test_prune_takes_out_what_the_rule_chooses(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    code, out, _ = run(capsys, "corpus", "prune", "--corpus", corpus, "--target", "opencl")
    assert (code, out) == (0, "removed 1 records, 1 stay\n")


def test_doctor_says_what_works(capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "backend llvm" in out
    assert "cannot reach programs started with python -I" in out


def test_doctor_says_which_images_a_device_has(capsys):
    _, out, _ = run(capsys, "doctor", "--json")
    found = {each["name"]: each for each in json.loads(out)["findings"]}
    opencl, images = found["backend opencl"], found.get("images of opencl")
    assert opencl["works"] == (images is not None)
    assert images is None or not images["works"] or "float32" in images["detail"]


def test_ctrl_c_gives_a_partial_report_and_130(tmp_path):
    records = [record_of(DIFFERENCE.format(size=n)) for n in range(2, 6)]
    corpus = make_corpus(tmp_path / "c", records)
    spin = before_compiling(
        "from compiler.ir import Op, toposort",
        "while [n for n in toposort(ast) if n.op is Op.BUFFER][0].attr[1] == 5: pass",
    )
    copy = patched(tmp_path / "copy", spin)
    report = tmp_path / "report.json"
    command = (*REPLAY, "run", "--corpus", corpus, "--compiler", copy, "--report", f"json:{report}")
    process = subprocess.Popen(
        [str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted: this report is partial" in out
    totals = json.loads(report.read_text())["totals"]
    assert totals["records"] == 4
    assert totals["skipped"] >= 1


def test_against_a_revision_compares_with_what_that_compiler_says_now(tmp_path):
    tree = patched(tmp_path / "tree", SPACING)
    git(tree, "init", "--quiet")
    commit(tree, "spaces")
    source = tree / "compiler" / "compile.py"
    source.write_text(source.read_text().replace("'  = fsub'", "' = fsub'"))
    commit(tree, "no spaces")
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    for revision, code in (("HEAD", 0), ("HEAD~1", 1), ("nowhere", 3)):
        words = ("run", "--corpus", corpus, "--compiler", tree, "--against", revision)
        done = subprocess.run(
            [str(word) for word in (*REPLAY, *words, "--verify", "none")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert git(tree, "worktree", "list").count("\n") == 1


def git(tree, *words):
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", "-C", str(tree), *settings, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(tree, message):
    git(tree, "add", "compiler")
    git(tree, "commit", "--quiet", "-m", message)


def test_a_closed_pipe_ends_quietly(corpus):
    command = " ".join((*REPLAY, "list", "--corpus", str(corpus), "| true"))
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


def test_another_toolchain_is_said_once(capsys, tmp_path):
    origin = Provenance(toolchain={"llvmlite": "0.1"})
    records = [record_of(ONE, backend, provenance=origin) for backend in ("llvm", "opencl")]
    corpus = make_corpus(tmp_path / "c", records)
    _, out, _ = run(capsys, "run", "--corpus", corpus, "--verify", "none")
    assert out.count("2 records were captured with llvmlite 0.1, here it is") == 1


def test_it_runs_from_the_root_directory_with_a_home_that_is_read_only(corpus):
    env = {**os.environ, "HOME": "/proc", "PYTHONPATH": str(ROOT)}
    command = (*REPLAY, "run", "--corpus", corpus, "--verify", "none", "--determinism", "none")
    done = subprocess.run([str(w) for w in command], cwd="/", env=env, check=False)
    assert done.returncode == 0
