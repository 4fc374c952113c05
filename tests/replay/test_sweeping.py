"""Temporary directories outlive no command for long, and go before no command has ended."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from programs import DIFFERENCE, before_compiling, make_corpus, patched, record_of

from replay.isolation.sandbox import landlock_version
from replay.owner import OWNER, hold
from replay.sweeping import sweep

ROOT = Path(__file__).parents[2]


def held(path):
    """A directory of an owner that lives until the descriptor is closed."""
    path.mkdir()
    (path / "left").write_text("something")
    return hold(str(path))


def abandoned(path):
    os.close(held(path))
    return path


def test_a_directory_is_swept_when_its_owner_has_ended_and_not_before(tmp_path):
    owner = held(tmp_path / "replay-a")
    assert sweep([str(tmp_path)]) == ()
    assert (tmp_path / "replay-a" / "left").exists()
    os.close(owner)
    assert sweep([str(tmp_path)]) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_an_owner_or_of_another_name_is_left_alone(tmp_path):
    (tmp_path / "replay-results").mkdir()
    abandoned(tmp_path / "results")
    sweep([str(tmp_path)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["replay-results", "results"]


def test_no_link_is_followed(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    target = abandoned(tmp_path / "target")
    (place / "replay-link").symlink_to(target)
    (place / "replay-owner").mkdir()
    (place / "replay-owner" / OWNER).symlink_to(target / OWNER)
    inner = abandoned(place / "replay-inner")
    (inner / "link").symlink_to(target)
    sweep([str(place)])
    assert sorted(path.name for path in place.iterdir()) == ["replay-link", "replay-owner"]
    assert (target / "left").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_directory_of_another_user_is_left_alone(tmp_path):
    path = abandoned(tmp_path / "replay-a")
    os.chown(path, 65534, 65534)
    assert sweep([str(tmp_path)]) == ()
    assert (path / "left").exists()


@pytest.mark.skipif(not landlock_version(), reason="nothing here keeps root from removing a file")
def test_what_cannot_be_removed_is_told(tmp_path):
    path = abandoned(tmp_path / "replay-a")
    script = "import sys; from replay.isolation import sandbox; from replay.sweeping import sweep; "
    script += "sandbox.enter(sys.argv[1], None); print(*sweep(sys.argv[2:]))"
    words = [sys.executable, "-c", script, str(path / "left"), str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{path}: its command was killed, and it cannot be removed: ")


@pytest.fixture
def place():
    """A temporary directory of a short name: a socket in it must have a path."""
    with tempfile.TemporaryDirectory(prefix="t") as path:
        yield Path(path)


def test_the_next_command_removes_what_a_killed_one_left(tmp_path, place):
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=8))])
    copy = patched(tmp_path / "copy", before_compiling("while True: pass"))
    replaying = replay(place, "run", "--corpus", corpus, "--compiler", copy, "--jobs", "1")
    capturing = replay(place, "capture", "--corpus", tmp_path / "d", "--", "sleep", "60")
    wait_until(lambda: names(place) == ["replay-capture", "replay-workers"])
    wait_until(lambda: all(map(is_held, place.iterdir())))
    assert replay(place, "list", "--corpus", corpus).wait() == 0
    assert names(place) == ["replay-capture", "replay-workers"]
    for process in (replaying, capturing):
        process.send_signal(signal.SIGKILL)
        process.wait()
    os.killpg(capturing.pid, signal.SIGKILL)  # the program, which nobody captures any more
    assert names(place) == ["replay-capture", "replay-workers"]
    assert replay(place, "list", "--corpus", corpus).wait() == 0
    assert names(place) == []


def replay(place, *words):
    command = [sys.executable, "-m", "replay.cli", *map(str, words)]
    environ = {**os.environ, "TMPDIR": str(place)}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=quiet, start_new_session=True)


def names(place):
    return sorted("-".join(path.name.split("-")[:2]) for path in place.iterdir())


def is_held(path):
    return (path / OWNER).exists()


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
