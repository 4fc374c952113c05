"""`replay fuzz` from the command line: it finds what is planted, and draws the same for a seed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from replay.patched import Patch, copy_compiler

ROOT = Path(__file__).resolve().parents[3]


def fuzz(*words: str) -> tuple[int, dict]:
    command = [sys.executable, "-m", "replay.cli", "fuzz", "--backend", "llvm", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_wrong_identity_of_max_is_found_and_shrunk_to_a_kernel_a_person_can_read(tmp_path):
    tree = copy_compiler(
        tmp_path / "tree", [Patch("compiler/rules/decompose.py", "_MAX: scalar.lowest", "_MAX: 0")]
    )
    corpus = tmp_path / "finds"
    words = ("--compiler", str(tree), "--corpus", str(corpus), "--examples", "200", "--seed", "3")
    code, report = fuzz(*words)
    wrong = [find for find in report["finds"] if find["signature"] == "wrong"]
    assert code == 1
    assert report["examples"] <= 2000
    assert wrong[0]["ast"].count("\n") <= 12
    assert "op=MAX" in wrong[0]["ast"]
    shown = subprocess.run(
        [sys.executable, "-m", "replay.cli", "list", "--corpus", str(corpus)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert wrong[0]["key"][:8] in shown.stdout


def test_a_kernel_that_kills_its_worker_is_a_find_of_its_own(tmp_path):
    head = "def reduce(root: Node, context: Context) -> Node:\n"
    patch = Patch("compiler/passes/reduce.py", head, f"{head}    __import__('os').abort()\n")
    tree = copy_compiler(tmp_path / "tree", [patch])
    code, report = fuzz("--compiler", str(tree), "--examples", "3", "--seed", "1")
    assert code == 1
    assert any("SIGABRT" in find["signature"] for find in report["finds"])


def test_one_seed_draws_the_same_kernels_twice():
    first, second = (fuzz("--examples", "12", "--seed", "5")[1] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("words", [(), ("--examples", "0"), ("--seconds", "0")])
def test_a_campaign_without_an_end_is_refused(words):
    command = [sys.executable, "-m", "replay.cli", "fuzz", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
