"""The commits between a good and a bad revision, in order, along first parents."""

from dataclasses import dataclass
from pathlib import Path

from replay.errors import GitError
from replay.worktree import find_repository, git, resolve_revision

_SHORT = 10


@dataclass(frozen=True, slots=True)
class Commit:
    name: str
    subject: str

    @property
    def short(self) -> str:
        return self.name[:_SHORT]


@dataclass(frozen=True, slots=True)
class History:
    """`commits` starts with the good one and ends with the bad one; `inside` is where in the
    repository the compiler lies."""

    repository: Path
    inside: Path
    commits: tuple[Commit, ...]


def read_history(path: Path, good: str, bad: str) -> History:
    """The history of the repository that `path` is in. A merge stands for all that it merges."""
    repository = find_repository(path)
    first, last = resolve_revision(repository, good), resolve_revision(repository, bad)
    if first == last:
        raise GitError(f"good {good!r} and bad {bad!r} are one commit; give two")
    if git(repository, "merge-base", first, last) != first:
        raise GitError(f"good {good!r} is no ancestor of bad {bad!r}; give an older one")
    plain = ("log", "--format=%H %s", "--no-show-signature")
    start = git(repository, *plain, "-1", first)
    rest = git(repository, *plain, "--first-parent", "--reverse", f"{first}..{last}")
    commits = tuple(Commit(*_parted(line)) for line in (start, *rest.split("\n")))
    return History(repository, path.resolve().relative_to(repository), commits)


def _parted(line: str) -> tuple[str, str]:
    name, _, subject = line.partition(" ")
    return name, subject
