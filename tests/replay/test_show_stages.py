"""`replay show --stages`, and `compiler.explain KEY --corpus`, which asks it."""

import subprocess
import sys

import pytest
from programs import keys_of, run, small_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_corpus(tmp_path_factory.mktemp("corpora") / "small")


def test_the_stages_of_a_record_are_those_of_its_opts(capsys, corpus):
    key = keys_of(corpus)[0]
    code, out, _ = run(capsys, "show", key, "--corpus", str(corpus), "--stages")
    assert code == 0
    assert "== stage linearize" in out
    assert "== source" in out
    assert "== heuristics" not in out  # the record's opts are given, nothing is chosen


def test_an_illegal_opt_has_its_reason_and_exit_code_1(capsys, corpus):
    words = ("--corpus", str(corpus), "--stages", "--opts", "UPCAST nowhere 4")
    code, out, err = run(capsys, "show", keys_of(corpus)[0], *words)
    assert code == 1
    assert "illegal: no axis nowhere" in out
    assert "no axis nowhere" in err


def test_the_machine_code_is_shown_alone(capsys, corpus):
    _, listed, _ = run(capsys, "list", "--corpus", str(corpus), "--target", "llvm/*")
    key = listed.split()[0]
    code, out, _ = run(capsys, "show", key, "--corpus", str(corpus), "--asm")
    assert code == 0
    assert out.lstrip().startswith(".")
    assert "==" not in out


def test_opts_without_stages_are_a_wrong_command_line(capsys, corpus):
    code, _, err = run(capsys, "show", keys_of(corpus)[0], "--corpus", str(corpus), "--trace")
    assert code == 2
    assert "need --stages" in err


def test_the_compiler_explains_a_key_by_asking_replay(capsys, corpus):
    key = keys_of(corpus)[0]
    _, shown, _ = run(capsys, "show", key, "--corpus", str(corpus), "--stages")
    line = [sys.executable, "-m", "compiler.explain", key, "--corpus", str(corpus)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, shown)
