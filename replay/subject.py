"""The compiler under test, seen through one protocol. To add ours: a line in SUBJECTS.

Nothing else in replay/ may know what a kernel means to a compiler. A subject is reached by import
in a worker process: this checkout's compiler, a copy of it in another directory, an older revision
of it, or a compiler of another kind that the user names (docs/own-compiler.md). A record only says
of which kind it is: no corpus can name code to be imported.
"""

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Protocol

import msgspec

from corpus import KernelRecord, Opt
from replay.artefact import Artefact
from replay.outcome import Beside, Numerics, Pair

SUBJECTS: tuple[tuple[str, str, str], ...] = (
    # the `kind` of its records, the module that has `SUBJECT`, the one that has `CHECKER`
    ("kernel-replay", "replay.codec", "replay.numerics.checker"),
)


class Detail(Enum):
    """How much a compile shall tell; more costs more."""

    OUTPUT = "output"
    STAGES = "stages"  # and the text of the kernel after every pass


class Where(Enum):
    """What was being done when a compiler said no."""

    READING = "reading"  # the record's text is not in the grammar
    NAMING = "naming"  # an op, opt, option or target that this compiler does not have
    COMPILING = "compiling"


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A compiler that says no, on purpose, in one line."""

    where: Where
    error: str


class RefusedError(Exception):
    """Carries `Refused` out of a subject."""

    def __init__(self, where: Where, error: str) -> None:
        super().__init__(error)
        self.where = where
        self.error = error


class Subject(Protocol):
    """A compiler of one kind of records. Raises RefusedError for what it refuses; anything else is
    its bug. One that a user names has two attributes more: `kind`, and `checker`, maybe None."""

    def check(self, record: KernelRecord) -> None:
        """Raise RefusedError if the record's question cannot be decoded."""

    def compile(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, detail: Detail
    ) -> Artefact:
        """Compile the record's question under `opts`; where they are None, under its own choice."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What running a kernel showed. `digest` names all that it wrote, on inputs that depend only on
    the question: two backends with equal digests gave the same bits. `bits` names a question and
    opts to which every backend owes one digest; None where none is owed."""

    numerics: Numerics
    reason: str | None = None
    weak: str | None = None
    digest: str | None = None
    bits: str | None = None
    beside: Beside | None = None  # how the old kernel took part; None: it did not
    machine_code: str | None = None  # "equal" or "differs" from the old kernel's, where known
    metrics: Mapping[str, Pair] = {}  # of the machine code, old and new
    elements: Mapping[str, int] = {}  # how many are exact, bounded, or so far off
    of_bound: float | None = None  # the distance of the worst one in bounds; None: it has none
    code: bytes | None = None  # both assemblies where they differ, see replay/compare/assemblies.py


class Checker(Protocol):
    """Runs kernels. Apart from Subject, as it needs devices, inputs and a reference."""

    def check(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, old: Artefact | None
    ) -> Checked:
        """Compile under `opts`, run beside `old` if given, and judge both by the reference."""


class ManyBackends(Protocol):
    """What a checker of kernels has as well, if they can run on more backends than their own."""

    def elsewhere(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None
    ) -> tuple[tuple[str, Checked], ...]:
        """Run the kernel on every other backend under the same opts; pairs of target and result."""


class BuildsAhead(Protocol):
    """What a checker has as well, if building many kernels at once costs less than one by one."""

    def build_ahead(
        self, asked: Sequence[tuple[KernelRecord, tuple[Opt, ...] | None, Artefact | None]]
    ) -> None:
        """Build what `check` will be asked for next; whatever fails here fails there again."""


class NoChecker:
    """Stands in for a subject that only compiles."""

    def check(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, old: Artefact | None
    ) -> Checked:
        """Say that there is nothing to run it with."""
        return Checked(numerics=Numerics.SKIPPED, reason=f"{record.kind!r} runs no kernels")


def why_no_subject(name: str) -> str | None:
    """What is wrong with the way a subject is named, as far as can be told without importing it."""
    place, colon, attribute = name.rpartition(":")
    if not colon or not attribute.isidentifier():
        return "use module:object or path/to/file.py:object"
    if place.endswith(".py"):
        return None if Path(place).is_file() else f"{place} does not exist"
    is_dotted = all(part.isidentifier() for part in place.split("."))
    return None if is_dotted else f"{place!r} is neither a module nor a .py file"


def load_subject(name: str) -> tuple[str, Subject, Checker]:
    """Import what `name` names: the kind of its records, what compiles them, what runs them."""
    place, _, attribute = name.rpartition(":")
    module = _module_of_file(Path(place)) if place.endswith(".py") else _module(place)
    subject: Subject = getattr(module, attribute)
    kind, checker = getattr(subject, "kind", None), getattr(subject, "checker", None)
    if not isinstance(kind, str) or not kind or kind in [known for known, _, _ in SUBJECTS]:
        raise ValueError(f"subject {name}: kind is {kind!r}; give its records a kind of their own")
    return kind, subject, checker or NoChecker()


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _module_of_file(path: Path) -> ModuleType:
    """A file as a module. Its directory is not searched: what it imports must be installed."""
    name = f"subject_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module", path=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
