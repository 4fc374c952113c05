"""Other revisions of the compiler, each in a git worktree that does not outlive its use."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.errors import GitError


def git(repository: Path, *arguments: str) -> str:
    """What `git` prints. GitError with its last line if it fails."""
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise GitError(f"git: {error}; install it") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["failed"]
        raise GitError(f"git {arguments[0]} in {repository}: {said[-1]}")
    return done.stdout.strip()


def find_repository(path: Path) -> Path:
    """The checkout that `path` lies in."""
    return Path(git(path, "rev-parse", "--show-toplevel"))


def resolve_revision(repository: Path, revision: str) -> str:
    """The full name of a commit."""
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except GitError:
        raise GitError(
            f"revision {revision!r} is no commit of {repository}; a shallow clone may lack it"
        ) from None


@contextmanager
def checked_out(repository: Path, revision: str) -> Iterator[Path]:
    """A directory with the tree of `revision`, for the length of a with block."""
    commit = resolve_revision(repository, revision)
    with tempfile.TemporaryDirectory(prefix="replay-worktree-") as directory:
        tree = Path(directory) / "tree"
        git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git(repository, "worktree", "remove", "--force", str(tree))


def revision_of(path: Path) -> tuple[str | None, bool | None]:
    """The commit that `path` is checked out at and whether it differs; None where git can't say."""
    try:
        commit = git(path, "rev-parse", "HEAD")
        return commit, bool(git(path, "status", "--porcelain", "--untracked-files=no", "--", "."))
    except GitError:
        return None, None
