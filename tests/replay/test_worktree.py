"""What git says of the compiler that a capture records."""

import subprocess

from replay.worktree import revision_of


def git(directory, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", "-C", directory, *who, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_directory_is_at_a_commit_and_as_it_was_there_until_a_file_of_it_changes(tmp_path):
    assert revision_of(tmp_path) == (None, None)  # no repository
    inside = tmp_path / "compiler"
    inside.mkdir()
    (inside / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("1")
    git(tmp_path, "init")
    assert revision_of(inside) == (None, None)  # no commit
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "b.py").write_text("2")
    (inside / "unknown.py").write_text("1")
    assert revision_of(inside) == (commit, False)
    (inside / "a.py").write_text("2")
    assert revision_of(inside) == (commit, True)
    assert revision_of(tmp_path) == (commit, True)
    git(tmp_path, "checkout", "--detach")
    assert revision_of(inside) == (commit, True)
