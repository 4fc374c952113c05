"""Runs a program under capture, and says what became of its kernels."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from threading import Thread

import corpus as corpora  # its reader is imported where a record was lost, and not else
from corpus import PathError, Status, Stored
from replay.capture.environment import VARIABLE
from replay.capture.launch import Program, may_be_directory
from replay.capture.origin import origin_of_ours
from replay.capture.recorder import Losses, Recorder
from replay.capture.relay import Relay
from replay.errors import UsageError


@dataclass(frozen=True, slots=True)
class Captured:
    """How a program ended, and what of it is in the corpus."""

    exit_code: int  # the program's own; 128 + n for signal n
    records: int  # in the corpus now
    added: int
    lost: int
    why_lost: str | None
    is_silent: bool = False  # no kernel of the program was heard of


def capture(
    command: Sequence[str], corpus: Path, environ: Mapping[str, str], program: Program | None = None
) -> Captured:
    """Run `command` with every kernel of it and its children recorded in `corpus`.

    `program` is that command where it has been started already.
    """
    if program is None:
        _refuse_file(corpus)
        try:
            program = Program(command, str(corpus), environ)
        except OSError as error:
            raise UsageError(f"cannot run {command[0]!r}: {error.strerror}") from None
    losses = Losses(Path(program.capture.losses))
    recorder = Recorder(Path(program.capture.corpus), losses, program=program.pid)
    try:
        refusal = recorder.open()
        origin_of_ours()
        code = _serve(program, recorder)
        records = recorder.close()
        lost, why = account(recorder.corpus, losses)
        if refusal is not None:  # of a program that asked nothing, too, nothing could be recorded
            return Captured(code, 0, 0, lost=max(lost, 1), why_lost=str(refusal))
        return Captured(code, records, recorder.added, lost, why, is_silent=not recorder.asked)
    finally:
        program.discard()


def _refuse_file(corpus: Path) -> None:
    """Say why no records can go to a place, before the program runs for nothing."""
    corpora.refuse_store(corpus)
    if not may_be_directory(str(corpus)) and ":" not in str(corpus):
        export = f"`replay corpus export {corpus} --corpus DIR`"
        raise UsageError(
            f"--corpus {corpus}: a file is made of a corpus, by {export}; capture into a directory"
        )


def _serve(program: Program, recorder: Recorder) -> int:
    """Hear the program's processes until it has ended; give its exit code."""
    ended, end = os.pipe()
    codes: list[int] = []

    def wait() -> None:
        codes.append(program.wait())
        os.close(end)

    relay = Relay(socket(fileno=program.server.detach()), recorder)
    waiter = Thread(target=wait)
    waiter.start()
    try:
        relay.serve(ended)
        waiter.join()
    finally:
        relay.close()
        os.close(ended)
    return codes[0] if codes[0] >= 0 else 128 - codes[0]


def account(corpus: Path, losses: Losses) -> tuple[int, str | None]:
    """How many records of a capture that has ended are lost, and why one is. The corpus is told."""
    reasons = losses.read()
    lost = _really_lost(corpus, reasons)
    _mark_incomplete(corpus, len(lost))
    return len(lost), reasons[lost[0]] if lost else None


def _really_lost(corpus: Path, reasons: Mapping[str, str]) -> list[str]:
    """Those that were not stored later after all."""
    if not reasons:
        return []
    try:
        with corpora.open_reader(corpus, allow_empty=True) as reader:
            return [key for key in reasons if not _is_whole(reader.read(key))]
    except PathError:
        return list(reasons)


def _mark_incomplete(corpus: Path, lost: int) -> None:
    """Let the corpus itself say what it lacks, where its writers could not."""
    if not lost:
        return
    with suppress(PathError):  # then every reader of it fails as well
        with corpora.open_reader(corpus, allow_empty=True) as reader:
            missing = lost - reader.lost
        if missing > 0:
            with corpora.open_writer(corpus) as writer:
                writer.note_lost(missing)


def _is_whole(item: object) -> bool:
    return isinstance(item, Stored) and item.record.status is not Status.STARTED


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
