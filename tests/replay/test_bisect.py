"""Bisection: the search by itself, and on a history of compilers with a wrong rule planted."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import DIFFERENCE, SPACING, TRIPLE, WRONG_RULE, make_corpus, record_of, run

from replay.bisect import Cell, Found, Kind, Search, read_history

ROOT = Path(__file__).parents[2]
PLANTED, SPACED, BROKEN = "multiply by one faster", "spaces", "broken"


# --- the search ---


def asked(first_bad, last, skipped=()):
    """Search for kernels with these first bad commits; what was found, and which were asked."""
    commits = []

    def ask(commit, keys):
        commits.append(commit)
        return {key: Cell(kind(key, commit), "") for key in keys}

    def kind(key, commit):
        if commit in skipped:
            return Kind.SKIPPED
        return Kind.BAD if commit >= first_bad[key] else Kind.GOOD

    return Search(list(first_bad), last, ask).run(), commits


@pytest.mark.parametrize("first", range(1, 33))
def test_the_first_bad_of_32_commits_is_found_by_asking_five(first):
    found, commits = asked({"k": first}, 32)
    assert found == {"k": Found(first, first)}
    assert len(commits) == 5


def test_many_kernels_ask_each_commit_once():
    wanted = {f"k{n}": 1 + 7 * n % 20 for n in range(20)}
    found, commits = asked(wanted, 20)
    assert found == {key: Found(first, first) for key, first in wanted.items()}
    assert len(commits) == len(set(commits)) <= 19


def test_a_commit_without_verdict_is_passed_over():
    assert asked({"k": 6}, 8, skipped=(4,))[0] == {"k": Found(6, 6)}


def test_where_only_commits_without_verdict_are_left_the_answer_is_a_range():
    assert asked({"k": 4}, 8, skipped=(3, 4, 5))[0] == {"k": Found(3, 6)}


def test_nothing_is_asked_about_a_good_commit_beside_a_bad_one():
    assert asked({"k": 1}, 1) == ({"k": Found(1, 1)}, [])


# --- on a history ---


def git(repository, *words):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", repository, *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(repository, subject, change):
    change(repository)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", subject)


def comment(text):
    def change(repository):
        with (repository / "compiler/errors.py").open("a") as file:
            file.write(f"# {text}\n")

    return change


def replacing(patch):
    def change(repository):
        path = repository / patch.file
        text = path.read_text()
        assert text.count(patch.before) == 1
        path.write_text(text.replace(patch.before, patch.after))

    return change


def breaking(repository):
    (repository / "compiler/target.py").rename(repository / "compiler/t.py")


def repairing(repository):
    (repository / "compiler/t.py").rename(repository / "compiler/target.py")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A good commit and eight more: the fourth does not compile, the sixth has a wrong rule."""
    path = tmp_path_factory.mktemp("history") / "repository"
    shutil.copytree(
        ROOT / "compiler", path / "compiler", ignore=shutil.ignore_patterns("__pycache__")
    )
    git(path, "init", "-q", "-b", "main")
    commit(path, "start", lambda _: None)
    changes = (
        ("one", comment("one")),
        ("two", comment("two")),
        ("three", comment("three")),
        (BROKEN, breaking),
        ("repaired", repairing),
        (PLANTED, replacing(WRONG_RULE)),
        (SPACED, replacing(SPACING)),
        ("eight", comment("eight")),
    )
    for subject, change in changes:
        commit(path, subject, change)
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = (TRIPLE, DIFFERENCE.format(size=4))
    return make_corpus(tmp_path_factory.mktemp("corpora") / "two", [record_of(t) for t in texts])


def bisected(capsys, corpus, repository, *words):
    ends = ("--good", "HEAD~8", "--bad", "HEAD", "--jobs", 1)
    code, out, err = run(
        capsys, "bisect", "--corpus", corpus, "--repo", repository, *ends, *words, "--json"
    )
    return code, json.loads(out) if out.startswith("{") else out, err


def assert_nothing_is_left(repository):
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert not list((repository / ".git").rglob("*.lock"))
    worktrees = repository / ".git/worktrees"
    assert not worktrees.exists() or not list(worktrees.iterdir())
    assert git(repository, "status", "--porcelain") == ""


def test_by_source_each_kernel_gets_the_commit_that_changed_it(capsys, corpus, repository):
    code, answer, _ = bisected(capsys, corpus, repository)
    subjects = sorted((kernel["name"], kernel["subject"]) for kernel in answer["kernels"])
    assert (code, answer["commits"]) == (0, 8)
    assert sorted(subject for _, subject in subjects) == [PLANTED, SPACED]
    assert git(repository, "log", "-1", "--format=%H", "HEAD~2") in {
        kernel["first_bad"] for kernel in answer["kernels"]
    }
    assert_nothing_is_left(repository)


def test_by_numerics_only_the_wrong_rule_is_named_in_a_clone_as_well(
    capsys, corpus, repository, tmp_path
):
    clone = tmp_path / "a clone"
    git(tmp_path, "clone", "-q", repository, clone)
    code, answer, _ = bisected(capsys, corpus, clone, "--criterion", "numerics")
    assert code == 0
    assert [kernel["subject"] for kernel in answer["kernels"]] == [PLANTED]
    skipped = answer["table"][git(clone, "rev-parse", "HEAD~4")]
    assert [kind for kind, _ in skipped.values()] == ["skipped"]
    assert_nothing_is_left(clone)


def test_a_commit_is_named_with_its_subject_and_the_command_that_shows_it(
    capsys, corpus, repository
):
    ends = ("--good", "HEAD~3", "--bad", "HEAD~2", "--jobs", 1)
    code, out, _ = run(capsys, "bisect", "--corpus", corpus, "--repo", repository, *ends)
    name = git(repository, "rev-parse", "HEAD~2")[:10]
    assert code == 0
    assert f"first bad commit of 1 kernel: {name} {PLANTED}" in out
    assert out.rstrip().endswith(f"show {name}")


def test_a_merge_stands_for_all_that_it_merges(repository, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", repository, clone)
    git(clone, "checkout", "-q", "-b", "side", "HEAD~2")
    commit(clone, "on the side", comment("side"))
    git(clone, "checkout", "-q", "main")
    git(clone, "merge", "-q", "--no-ff", "-m", "the merge", "side", "-s", "ours")
    (tmp_path / "link").symlink_to(clone)
    history = read_history(tmp_path / "link" / "compiler", "HEAD~2", "HEAD")
    assert [each.subject for each in history.commits] == [SPACED, "eight", "the merge"]
    assert str(history.inside) == "compiler"


def test_where_nothing_is_bad_the_exit_code_is_3(capsys, corpus, repository):
    ends = ("--good", "HEAD~8", "--bad", "HEAD~7", "--jobs", 1)
    code, out, _ = run(capsys, "bisect", "--corpus", corpus, "--repo", repository, *ends)
    assert (code, "nothing to bisect" in out) == (3, True)
    assert_nothing_is_left(repository)


@pytest.mark.parametrize(
    ("good", "bad", "fact"),
    [
        ("HEAD", "HEAD~1", "no ancestor"),
        ("HEAD", "HEAD", "one commit"),
        ("no-such-revision", "HEAD", "no commit of"),
    ],
)
def test_revisions_between_which_nothing_lies_are_one_line(
    capsys, corpus, repository, good, bad, fact
):
    words = ("--repo", repository, "--good", good, "--bad", bad)
    code, _, err = run(capsys, "bisect", "--corpus", corpus, *words)
    assert (code, err.count("\n"), fact in err) == (3, 1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_no_worktree_behind(corpus, repository, number):
    words = ("--corpus", corpus, "--repo", repository, "--good", "HEAD~8", "--bad", "HEAD")
    process = subprocess.Popen(
        [sys.executable, "-m", "replay.cli", "bisect", *words],
        cwd=ROOT,
        env=os.environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    worktrees = repository / ".git/worktrees"
    deadline = time.monotonic() + 60
    while not worktrees.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, "replay: interrupted")
    assert_nothing_is_left(repository)
