"""The observer that turns compiles into records, in the process that compiles.

A record is written before its compile does any work, and completed when it has ended, so a crash or
an endless pass leaves its question. Nothing is raised into the program; what could not be stored is
written to the file of losses, and counted by `replay capture`.
"""

import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import compiler
from compiler import CompileEvent, CompileFailed, CompileFinished, CompileStarted
from corpus import (
    CorpusError,
    KernelRecord,
    PathError,
    Provenance,
    Writer,
    key_of,
    open_writer,
)
from replay.codec import finished_fields, started_record
from replay.environment import Settings, captures
from replay.toolchain import toolchain
from replay.worktree import revision_of

_COMPILER = Path(compiler.__file__ or "").resolve().parent
_OURS = (str(_COMPILER), str(Path(__file__).resolve().parent))


def recorders(environ: Mapping[str, str], clock: Callable[[], float]) -> tuple["Recorder", ...]:
    """One recorder for each capture that this process runs under."""
    return tuple(Recorder(settings, environ, clock) for settings in captures(environ))


class Recorder:
    """Stores the compiles of one process in one corpus; any thread may call it."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._clock = clock
        self._lock = threading.Lock()  # held while the writer is opened
        self._writer: Writer | None = None
        self._refusal: PathError | None = None
        self._origin: Provenance | None = None
        self._whole: set[str] = set()  # keys that this process has stored an answer for
        self._running = threading.local()

    def __call__(self, event: CompileEvent) -> None:
        """Store one event. Never raises."""
        key = "-"
        try:
            record = self._started(event) if isinstance(event, CompileStarted) else self._of(event)
            key = key_of(record)
            self._store(key, record, event)
        except CorpusError as error:
            self._lose(key, str(error))
        except Exception as error:  # noqa: BLE001  # the program's own result comes first
            if key == "-" and not isinstance(event, CompileStarted):
                return  # it was lost when it started
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._lose(key, f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})")

    def _store(self, key: str, record: KernelRecord, event: CompileEvent) -> None:
        writer = self._open()
        if isinstance(event, CompileStarted):
            if key in self._whole:
                writer.count(key)
            else:
                writer.add(record)
        elif key not in self._whole:
            writer.complete(msgspec.structs.replace(record, **finished_fields(event)))
            self._whole.add(key)

    def _started(self, event: CompileStarted) -> KernelRecord:
        record = msgspec.structs.replace(started_record(event), provenance=self._provenance())
        stack = self._stack()
        stack.append((event, record))
        return record

    def _of(self, event: CompileFinished | CompileFailed) -> KernelRecord:
        """The record of the start of what has ended; compiles nest, on one thread."""
        stack = self._stack()
        while stack:
            started, record = stack.pop()
            if started is event.started:
                return record
        return msgspec.structs.replace(started_record(event.started), provenance=self._provenance())

    def _stack(self) -> list[tuple[CompileStarted, KernelRecord]]:
        if not hasattr(self._running, "stack"):
            self._running.stack = []
        stack: list[tuple[CompileStarted, KernelRecord]] = self._running.stack
        return stack

    def _open(self) -> Writer:
        with self._lock:
            if self._refusal is not None:
                raise self._refusal  # it is not tried again for every kernel
            if self._writer is None:
                try:
                    self._writer = open_writer(self._settings.corpus)
                except PathError as error:
                    self._refusal = error
                    raise
            return self._writer

    def _lose(self, key: str, reason: str) -> None:
        line = f"{key} {' '.join(reason.split())}\n"
        try:
            with open(self._settings.losses, "a", encoding="utf-8") as file:
                file.write(line)
        except OSError:
            pass  # then not even the loss can be noted; the corpus says how much it lacks

    def _provenance(self) -> Provenance:
        if self._origin is None:
            self._origin = self._fixed_provenance()
        test = self._environ.get("PYTEST_CURRENT_TEST")
        return msgspec.structs.replace(
            self._origin,
            test_id=test.rpartition(" ")[0] if test else None,
            call_site=_call_site(),
            captured_at=datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds"),
        )

    def _fixed_provenance(self) -> Provenance:
        settings = self._settings
        revision, is_dirty = settings.revision, settings.is_dirty
        if settings.revision_of != str(_COMPILER):  # the program brings a compiler of its own
            revision, is_dirty = revision_of(_COMPILER)
        return Provenance(revision=revision, dirty=is_dirty, toolchain=toolchain())


def _call_site() -> str | None:
    """Where the program asked: the nearest frame that is not the compiler's or ours."""
    for frame, line in traceback.walk_stack(None):
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not name.startswith("<"):
            return f"{name}:{line} {frame.f_code.co_name}"
    return None
