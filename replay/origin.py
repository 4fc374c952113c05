"""Where records come from: what is the same for all that one process compiles."""

from functools import cache
from pathlib import Path

from corpus import Provenance
from replay.toolchain import toolchain_of
from replay.worktree import revision_of


@cache
def origin_of(compiler: str, path: tuple[str, ...], python: str, machine: str) -> Provenance:
    """The revision of the compiler in that directory, and the libraries that `path` leads to."""
    revision, is_dirty = _revision_of(compiler)
    toolchain = toolchain_of(path, python, machine)
    return Provenance(revision=revision, dirty=is_dirty, toolchain=toolchain)


@cache
def _revision_of(compiler: str) -> tuple[str | None, bool | None]:
    return revision_of(Path(compiler))
