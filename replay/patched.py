"""Copies of the compiler with deliberate changes: how tests, the demo and calibration break it."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from replay.errors import ReplayError
from replay.tree import ROOT


@dataclass(frozen=True, slots=True)
class Patch:
    """In `file` (below the root of the tree), `before` stands once and becomes `after`."""

    file: str
    before: str
    after: str


def copy_compiler(to: Path, patches: Iterable[Patch] = ()) -> Path:
    """Copy this checkout's compiler into `to` and patch it; returns `to`, for --compiler."""
    # Byte code that is copied is older than the copy of its source, and would not be trusted.
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ROOT) / "compiler", to / "compiler", ignore=ignored)
    for patch in patches:
        _apply(patch, to)
    compile_ahead(to)
    return to


def compile_ahead(root: Path) -> None:
    """Write byte code for a tree: workers are not allowed to, and would each compile it again."""
    import compileall  # noqa: PLC0415  # 10 ms, for those that replay another copy

    compileall.compile_dir(root / "compiler", quiet=2)


def _apply(patch: Patch, root: Path) -> None:
    path = root / patch.file
    text = path.read_text(encoding="utf-8")
    count = text.count(patch.before)
    if count != 1:
        raise ReplayError(
            f"patch of {patch.file}: {patch.before[:60]!r} stands there {count} times, not once; "
            "the source has changed, write the patch anew"
        )
    path.write_text(text.replace(patch.before, patch.after), encoding="utf-8")
