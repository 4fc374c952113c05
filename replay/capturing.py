"""Runs a program under capture, and says what became of its kernels."""

import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from corpus import PathError, Status, Stored, open_reader, open_writer
from replay.environment import VARIABLE, Settings, with_capture, without_capture
from replay.errors import UsageError
from replay.worker import ROOT
from replay.worktree import revision_of


@dataclass(frozen=True, slots=True)
class Captured:
    """How a program ended, and what of it is in the corpus."""

    exit_code: int  # the program's own; 128 + n for signal n
    records: int  # in the corpus now
    added: int
    lost: int
    why_lost: str | None


def capture(command: Sequence[str], corpus: Path, environ: Mapping[str, str]) -> Captured:
    """Run `command` with every kernel of it and its children recorded in `corpus`."""
    corpus = corpus.absolute()
    try:
        with open_writer(corpus):
            before = _count(corpus)
    except PathError as error:
        code = _run(command, without_capture(environ))
        return Captured(code, 0, 0, lost=1, why_lost=str(error))
    with tempfile.TemporaryDirectory(prefix="replay-capture-") as directory:
        losses = Path(directory) / "losses"
        code = _run(command, with_capture(environ, settings_for(corpus, losses)))
        lost, why = account(corpus, losses)
    after = _count(corpus)
    return Captured(code, after, after - before, lost, why)


def account(corpus: Path, losses: Path) -> tuple[int, str | None]:
    """How many records of a capture that has ended are lost, and why one is. The corpus is told."""
    reasons = _read_losses(losses)
    lost = _really_lost(corpus, reasons)
    _mark_incomplete(corpus, len(lost))
    return len(lost), reasons[lost[0]] if lost else None


def settings_for(corpus: Path, losses: Path) -> Settings:
    """What the processes of a capture are told; `losses` is the file for what they lose."""
    spec = find_spec("compiler")
    places = list(spec.submodule_search_locations or ()) if spec else []
    compiler = str(Path(places[0]).resolve()) if places else None
    revision, is_dirty = revision_of(Path(compiler)) if compiler else (None, None)
    return Settings(
        corpus=str(corpus),
        losses=str(losses),
        root=ROOT,
        revision=revision,
        is_dirty=is_dirty,
        revision_of=compiler,
    )


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environ)
    except OSError as error:
        raise UsageError(f"cannot run {command[0]!r}: {error.strerror}") from None
    with _passing_on_signals(process):
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _passing_on_signals(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """While the program runs, what would end us is for it to decide."""
    passed_on = (signal.SIGTERM, signal.SIGHUP)

    def pass_on(number: int, _: object) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in passed_on}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)  # it has it as well
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read_losses(path: Path) -> dict[str, str]:
    """Key to reason; a loss whose key is not known stands under a name of its own."""
    found: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    for number, line in enumerate(lines):
        key, _, reason = line.partition(" ")
        found.setdefault(key if key != "-" else f"-{number}", reason)
    return found


def _really_lost(corpus: Path, reasons: Mapping[str, str]) -> list[str]:
    """Those that were not stored later after all."""
    if not reasons:
        return []
    try:
        with open_reader(corpus, allow_empty=True) as reader:
            return [key for key in reasons if not _is_whole(reader.read(key))]
    except PathError:
        return list(reasons)


def _mark_incomplete(corpus: Path, lost: int) -> None:
    """Let the corpus itself say what it lacks, where its writers could not."""
    if not lost:
        return
    with suppress(PathError):  # then every reader of it fails as well
        with open_reader(corpus, allow_empty=True) as reader:
            missing = lost - reader.lost
        if missing > 0:
            with open_writer(corpus) as writer:
                writer.note_lost(missing)


def _is_whole(item: object) -> bool:
    return isinstance(item, Stored) and item.record.status is not Status.STARTED


def _count(corpus: Path) -> int:
    try:
        with open_reader(corpus, allow_empty=True) as reader:
            return len(reader)
    except PathError:
        return 0


def escapes(environ: Mapping[str, str]) -> list[str]:
    """Which programs a capture cannot reach, and what in this environment is in its way."""
    notes = [
        "capture cannot reach programs started with python -I, -E or -S, or with an emptied "
        "environment: start them without, or pass PYTHONPATH and " + VARIABLE + " on",
        "capture cannot reach compilers that do not import `compiler.observe`",
    ]
    if VARIABLE in environ:
        notes.append(f"{VARIABLE} is set: this is itself a captured program")
    return notes
