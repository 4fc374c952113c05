"""Where records come from: what is the same for all that one process compiles."""

import os
import platform
import sys
from functools import cache
from importlib.util import find_spec
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


def origin_of_ours() -> Provenance | None:
    """The origin of what a program compiles that finds what we do: looked up before it asks."""
    spec = find_spec("compiler")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        return None
    path = tuple(os.path.abspath(path) for path in sys.path)
    return origin_of(places[0], path, platform.python_version(), platform.machine())


@cache
def _revision_of(compiler: str) -> tuple[str | None, bool | None]:
    return revision_of(Path(compiler))
