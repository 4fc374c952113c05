"""The compiler of another revision, checked out for as long as a replay needs it.

Imported where one is asked for: a replay against recorded output has no use for git.
"""

from contextlib import ExitStack
from pathlib import Path

from replay.errors import UsageError
from replay.patched import compile_ahead
from replay.worktree import checked_out, find_repository


def compiler_at(revision: str, inside: Path, stack: ExitStack) -> Path:
    """A tree with the compiler of `revision`, of the repository that `inside` lies in."""
    tree = stack.enter_context(checked_out(find_repository(inside), revision))
    compile_ahead(tree)
    return tree


def subject_at(revision: str, subject: str, stack: ExitStack) -> str:
    """The name by which `subject`, a FILE.py:OBJECT, can be imported as it was at `revision`."""
    place, _, attribute = subject.rpartition(":")
    if not place.endswith(".py"):
        raise UsageError("--against: name the subject by its file, which has revisions")
    file = Path(place).resolve()
    repository = find_repository(file.parent)
    tree = stack.enter_context(checked_out(repository, revision))
    return f"{tree / file.relative_to(repository.resolve())}:{attribute}"
