"""Other revisions of the compiler, each in a git worktree that does not outlive its use."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.errors import GitError
from replay.scratch import scratch_directory
from replay.signals import handling


def git(repository: Path, *arguments: str) -> str:
    """What `git` prints. GitError with its last line if it fails."""
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # ctrl-C is for us
        )
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
    """A directory with the tree of `revision`, for the length of a with block, however it ends."""
    commit = resolve_revision(repository, revision)
    ending = handling(signal.SIGTERM, signal.default_int_handler)
    with ending, scratch_directory("worktree") as directory:
        tree = directory / "tree"
        is_there = False
        try:
            with _undisturbed():
                git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
                is_there = True
            yield tree
        finally:
            if is_there:
                with _undisturbed():
                    git(repository, "worktree", "remove", "--force", str(tree))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """What would end us has to wait for the end of the block: half a worktree would be left."""
    came: list[int] = []

    def later(number: int, _: object) -> None:
        came.append(number)

    with handling(signal.SIGINT, later), handling(signal.SIGTERM, later):
        yield
    for number in came[:1]:
        signal.raise_signal(number)


def revision_of(path: Path) -> tuple[str | None, bool | None]:
    """The commit that `path` is checked out at and whether it differs; None where git can't say."""
    form = ("--porcelain=v2", "--branch", "--no-ahead-behind", "--untracked-files=no")
    try:
        lines = git(path, "--no-optional-locks", "status", *form, "--", ".").splitlines()
    except GitError:
        return None, None
    commit = lines[0].removeprefix("# branch.oid ")
    if commit == "(initial)":
        return None, None
    return commit, any(not line.startswith("#") for line in lines)
