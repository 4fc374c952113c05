"""`replay accept --review` on a terminal of its own, as a person sees it."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import DIFFERENCE, RENDER, after_rendering, make_corpus, patched, record_of, run

from replay.patched import Patch

ROOT = Path(__file__).parents[2]
LIMIT_S = 120


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Two kernels that changed in two ways."""
    place = tmp_path_factory.mktemp("review")
    corpus = make_corpus(place / "c", [record_of(DIFFERENCE.format(size=n)) for n in (4, 8)])
    comment = after_rendering("source += '; done' if '_8' in name else '; end'")
    return corpus, patched(place / "copy", comment)


class Terminal:
    """A program on a pseudo-terminal: wait for what it says, type what it asks for."""

    def __init__(self, words, cwd):
        self._ours, theirs = pty.openpty()
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "USER": "ada", "TERM": "dumb"}
        command = [sys.executable, "-m", "replay.cli", *map(str, words)]
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=environ
        )
        os.close(theirs)
        self.said = ""

    def answer(self, question, keys):
        """Type `keys` once `question` has been asked; what was said before is done with."""
        before = self._wait_for(question)
        os.write(self._ours, keys.encode())
        return before

    def interrupt(self, question):
        """What ctrl-C does, once `question` has been asked (again, if that was too early)."""
        self._wait_for(question)
        deadline = time.monotonic() + LIMIT_S
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"it cannot be interrupted: {self.said}"
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)

    def end(self):
        """All that it still says, and its exit code."""
        deadline = time.monotonic() + LIMIT_S
        while self._read():
            assert time.monotonic() < deadline, f"it does not end: {self.said}"
        code = self._process.wait(LIMIT_S)
        os.close(self._ours)
        return self.said, code

    def _wait_for(self, question):
        deadline = time.monotonic() + LIMIT_S
        while question not in self.said:
            assert time.monotonic() < deadline, f"{question!r} was never asked: {self.said}"
            assert self._read(), f"it ended without asking {question!r}: {self.said}"
        before, self.said = self.said.split(question, 1)
        return before

    def _read(self):
        if not select.select([self._ours], [], [], 1)[0]:
            return True
        try:
            data = os.read(self._ours, 4096).decode()
        except OSError:  # the other end is closed
            return False
        self.said += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data).replace("\r\n", "\n")
        return bool(data)


def terminal(scene, place, *options):
    corpus, copy = scene
    (place / "pyproject.toml").write_text("[tool.replay]\n")
    words = ("accept", "--corpus", corpus, "--compiler", copy, "--review")
    return Terminal((*words, "--determinism", "none", "--jobs", "1", *options), place)


def test_what_is_accepted_is_in_the_ledger_and_the_rest_is_not(scene, tmp_path):
    shown = terminal(scene, tmp_path)
    assert "\n+ ; done\n" in shown.answer("whole [d]iff, [q]uit? ", "a\n")
    shown.answer("why is it right: ", "reads better\n")
    shown.answer("whole [d]iff, [q]uit? ", "r\n")
    said, code = shown.end()
    assert code == 1
    assert "1 accepted, 1 rejected, 0 left" in said
    assert "1 new approvals" in said
    lines = (tmp_path / "replay-approvals.txt").read_text().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("\t-\tada\treads better")


def test_with_one_reason_for_all_and_all_accepted_the_gate_passes(scene, tmp_path, capsys):
    shown = terminal(scene, tmp_path, "--reason", "layout")
    for _ in range(2):
        shown.answer("whole [d]iff, [q]uit? ", "a\n")
    assert shown.end()[1] == 0
    corpus, copy = scene
    words = ("run", "--corpus", corpus, "--compiler", copy, "--verify", "none")
    code, out, _ = run(capsys, *words, "--policy", tmp_path / "pyproject.toml")
    assert (code, "gate passed" in out) == (0, True)


def test_who_quits_leaves_the_rest_and_who_interrupts_leaves_all(scene, tmp_path):
    shown = terminal(scene, tmp_path, "--reason", "x")
    shown.answer("whole [d]iff, [q]uit? ", "q\n")
    said, code = shown.end()
    assert (code, "0 accepted, 0 rejected, 2 left" in said) == (1, True)
    shown = terminal(scene, tmp_path, "--reason", "x")
    shown.answer("whole [d]iff, [q]uit? ", "a\n")
    shown.interrupt("whole [d]iff, [q]uit? ")
    assert shown.end()[1] == 130
    assert not (tmp_path / "replay-approvals.txt").exists()


def test_without_a_terminal_it_is_refused(scene, capsys):
    code, _, err = run(capsys, "accept", "--corpus", scene[0], "--review")
    assert code == 2
    assert "--review asks questions; run it on a terminal" in err


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--reason", " "), "a reason is missing"),
        (("--reason", "x", "--until", "2020-01-01"), "--until 2020-01-01 is over"),
        (("--update", "--until", "2120-01-01"), "a baseline does not run out"),
        (("--reason", "x", "--verify", "none"), "--verify none runs no kernel"),
        (("--update", "--verify", "none"), "--verify none runs no kernel"),
        (("--update", "--fresh", "new"), "--fresh runs no kernel"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(scene, capsys, options, fact):
    code, _, err = run(capsys, "accept", "--corpus", scene[0], *options)
    assert (code, fact in err) == (2, True)


def test_a_kernel_of_a_device_that_is_not_here_is_accepted_by_its_text_and_that_is_said(
    capsys, tmp_path
):
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=4), "metal")])
    plus = Patch("compiler/compile.py", RENDER, f"{RENDER}.replace(' - ', ' + ')")
    copy = patched(tmp_path / "copy", plus)
    (tmp_path / "pyproject.toml").write_text("[tool.replay]\n")
    words = ("--corpus", corpus, "--compiler", copy, "--policy", tmp_path / "pyproject.toml")
    code, out, _ = run(capsys, "accept", *words, "--reason", "on purpose")
    assert (code, "accepting 1 kernel that was not run: " in out) == (0, True)
    assert "1 new approvals" in out
