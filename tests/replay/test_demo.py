"""The demo: its changes apply, its story comes out, and it leaves other people's files alone."""

import os
import sys

import pytest
from programs import run

from replay.capture.environment import without_capture
from replay.demo import Setting, Voice, find_model, play, prepare
from replay.demo.changes import CHANGES
from replay.patched import copy_compiler


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Exit code and lines of the demo with the small network on LLVM."""
    home = tmp_path_factory.mktemp("a home with spaces")
    out = prepare(home / "demo")
    lines = []
    setting = Setting(out, home, None, ("llvm",), without_capture(os.environ))

    def say(line):
        sys.stdout.write(f"{line}\n")  # shown where a test fails
        lines.append(line)

    code = play(Voice(say, say), setting)
    return code, lines, out


def test_the_story_comes_out_as_it_should(story):
    code, lines, _ = story
    assert code == 0, "\n".join(lines)


def test_the_harmless_change_is_seen_and_right_and_the_harmful_one_wrong(story):
    _, lines, _ = story
    start = next(number for number, line in enumerate(lines) if line.startswith("What was seen"))
    unchanged, harmless, harmful = lines[start + 1 : start + 4]
    assert "exit code 0" in unchanged
    assert "exit code 1" in harmless
    assert "wrong" not in harmless
    assert "exit code 1" in harmful
    assert "wrong" in harmful


def test_the_reports_lie_where_the_last_lines_say(story):
    _, lines, out = story
    reports = next(line for line in lines if line.startswith("Reports"))
    for name in ("unchanged", "harmless", "harmful"):
        assert f"demo/{name}.html" in reports
        assert (out / f"{name}.html").stat().st_size > 1000
        assert (out / f"{name}.json").is_file()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_applies_to_this_compiler(tmp_path, change):
    copy_compiler(tmp_path / "copy", change.patches)
    for patch in change.patches:
        assert patch.after in (tmp_path / "copy" / patch.file).read_text()


def test_a_second_demo_replaces_what_the_first_left(tmp_path):
    (prepare(tmp_path / "demo") / "corpus").mkdir()
    assert [path.name for path in prepare(tmp_path / "demo").iterdir()] == [".replay-demo"]


def test_a_directory_with_something_else_is_refused_and_left_as_it_is(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    code, _, err = run(capsys, "demo", "--out", tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_missing_model_is_said_with_what_would_fetch_it(tmp_path, monkeypatch):
    monkeypatch.setattr("replay.demo.scenario.ROOT", str(tmp_path))
    model, line = find_model([tmp_path])
    assert model is None
    assert "make setup" in line
