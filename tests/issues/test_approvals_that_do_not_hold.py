"""Found by accepting a wrong kernel: `nothing to approve`, exit code 0; and by an approval that ran
out: the report was red and said nothing of it. Parts of a sharded replay kept the approvals that
had held where they were made. Their kind: what is not accepted, or not any more, is said, and
fails.
"""

import subprocess
import sys
from datetime import date
from pathlib import Path

import msgspec
import pytest

from replay.approvals import Approval, Ledger, add_approvals, read_ledger
from replay.artefact import Artefact
from replay.compare.diff import digest_of
from replay.errors import PolicyError
from replay.gate import pass_or_fail, with_approvals
from replay.outcome import Numerics, Outcome, Result
from replay.policy import DEFAULT, read_policy

sys.path.insert(0, str(Path(__file__).parents[1] / "replay"))  # helpers beside the tests there

from programs import (
    DIFFERENCE,
    SPACING,
    SWAP_SUB,
    make_corpus,
    patched,
    record_of,
    run,
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    place = tmp_path_factory.mktemp("approvals")
    corpus = make_corpus(place / "c", [record_of(DIFFERENCE.format(size=4))])
    return corpus, patched(place / "swap", SWAP_SUB), patched(place / "spaces", SPACING)


@pytest.mark.parametrize(
    "how", [("--reason", "I am sure"), ("--update",)], ids=["ledger", "update"]
)
def test_accepting_a_wrong_kernel_says_so_and_fails(capsys, monkeypatch, tmp_path, scene, how):
    monkeypatch.chdir(tmp_path)
    corpus, swapped, _ = scene
    code, out, _ = run(capsys, "accept", "--corpus", corpus, "--compiler", swapped, *how)
    assert code == 1
    assert out.endswith("never accepted: 1 code/wrong\n")
    assert not (tmp_path / "replay-approvals.txt").exists()


def test_a_report_names_the_approvals_that_ran_out(capsys, monkeypatch, tmp_path, scene):
    monkeypatch.chdir(tmp_path)
    corpus, _, spaced = scene
    words = ("--corpus", corpus, "--compiler", spaced)
    assert run(capsys, "accept", *words, "--reason", "spacing", "--until", "2999-01-31")[0] == 0
    ledger = tmp_path / "replay-approvals.txt"
    ledger.write_text(ledger.read_text().replace("2999", "2001"))
    code, out, _ = run(capsys, "run", *words)
    assert code == 1
    assert "gate failed: the approval of 1 record ran out, the last on 2001-01-31" in out


@pytest.fixture
def approved_once():
    """A result that was approved when its part was written."""
    rest = {"applied": (), "launch": None, "arguments": (), "estimates": None}
    old, new = (Artefact(name="k", source=text, **rest) for text in ("a", "b"))
    return Result(key="0" * 64, outcome=Outcome.CODE, old=old, new=new, approval="it was right")


def test_an_approval_of_a_part_is_asked_for_again(approved_once):
    marked = with_approvals([approved_once], Ledger({}, {}))
    assert marked[0].approval is None
    assert not pass_or_fail(marked, DEFAULT).passed


def test_an_approval_that_ran_out_is_said_once_however_often_it_is_judged(approved_once):
    pair = digest_of(approved_once.old), digest_of(approved_once.new)
    ledger = Ledger({}, {pair: Approval(*pair, date(2001, 1, 31), "ada", "wider")})
    marked = with_approvals(with_approvals([approved_once], ledger), ledger)
    assert marked[0].explanation.count("ran out") == 1


def test_no_approval_covers_numbers_that_are_not_known(approved_once):
    pair = digest_of(approved_once.old), digest_of(approved_once.new)
    ledger = Ledger({pair: Approval(*pair, None, "ada", "wider")}, {})
    unfinished = msgspec.structs.replace(approved_once, numerics=Numerics.UNFINISHED)
    assert with_approvals([unfinished], ledger)[0].approval is None


@pytest.mark.parametrize("day", ["2026W491", "20261202", "2026-13-40"])
def test_a_last_day_is_written_in_one_way(tmp_path, day):
    (tmp_path / "ledger").write_text(f"{'a' * 16}\t{'b' * 16}\t{day}\tada\twhy\n")
    with pytest.raises(PolicyError, match=r"line 1: .* is no date"):
        read_ledger(tmp_path / "ledger", date(2026, 1, 1))


def test_a_policy_file_whose_tool_is_no_table_is_named(tmp_path):
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    with pytest.raises(PolicyError, match=r"pyproject\.toml: tool: is no table"):
        read_policy(tmp_path / "pyproject.toml")


def test_a_ledger_that_finds_no_room_keeps_what_it_had(tmp_path):
    """It was cut in the middle of a line, and the error was called a bug."""
    path = tmp_path / "ledger"
    add_approvals(path, [Approval(f"{n:016x}", "b" * 16, None, "ada", "wider") for n in range(300)])
    before = path.read_bytes()
    code = (
        "import pathlib, resource; from replay.approvals import *; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); "
        "more = [Approval('c' * 16, 'd' * 16, None, 'ada', 'wider')]; "
        f"add_approvals(pathlib.Path({str(path)!r}), more)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PolicyError: approvals" in done.stderr
    assert "nothing was approved" in done.stderr
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_cannot_be_written_does_not_hide_the_verdict(capsys, tmp_path, scene):
    words = ("run", "--corpus", scene[0], "--verify", "none")
    code, out, err = run(capsys, *words, "--report", f"json:{tmp_path}")
    assert code == 3
    assert "1 same = 1 records" in out
    assert f"report {tmp_path}: Is a directory" in err
