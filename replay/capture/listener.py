"""What one captured process says, put into records. Messages come from it, or from a socket."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

import msgspec

from corpus import KernelRecord, Provenance, key_of
from replay.capture.environment import Capture
from replay.capture.foreign import pass_on
from replay.capture.origin import origin_of
from replay.capture.recorder import Losses, Recorder
from replay.capture.records import Plain, question_of


class Hello(msgspec.Struct, frozen=True, tag_field="kind", tag="hello"):
    """What the records of a process have in common."""

    compiler: str  # the directory of the one that it runs
    path: tuple[str, ...]  # where it finds libraries
    python: str
    machine: str


class _Told(msgspec.Struct, frozen=True, tag_field="kind"):
    number: int
    question: Plain
    test_id: str | None
    call_site: str | None
    tensor_op: str | None
    device: dict[str, str]
    at: float


class Ask(_Told, frozen=True, tag="ask"):
    """A compile begins."""


class Recall(_Told, frozen=True, tag="recall"):
    """A number for a question that was asked before, by a process that this one was forked from."""


class Answer(msgspec.Struct, frozen=True, tag_field="kind", tag="answer"):
    """How it ended."""

    number: int
    answer: Plain


class Again(msgspec.Struct, frozen=True, tag_field="kind", tag="again"):
    """The program answered a question itself."""

    number: int


class Leave(msgspec.Struct, frozen=True, tag_field="kind", tag="leave"):
    """The process is about to end."""

    process: int


Message = Hello | Ask | Recall | Answer | Again | Leave
decode = msgspec.json.Decoder(Message).decode


class Listener:
    """Hears one process. Its numbers mean nothing to another."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._origin = Provenance()
        self._running: dict[int, KernelRecord] = {}  # asked, and not answered yet
        self._keys: dict[int, str] = {}

    def hear(self, message: Plain | bytes) -> bool:
        """Act on one message. False if it told of a record that could not be stored."""
        try:
            if isinstance(message, bytes):
                return self._act(decode(message))
            return self._act(msgspec.convert(message, Message))
        except Exception as error:  # noqa: BLE001  # the program's own result comes first
            pass_on(error)
            self._recorder.lose("-", error)
            return False

    def _act(self, message: Message) -> bool:
        match message:
            case Hello():
                self._origin = origin_of(
                    message.compiler, message.path, message.python, message.machine
                )
            case Ask():
                record = self._named(message)
                self._running[message.number] = record
                return self._recorder.ask(record)
            case Recall():
                self._named(message)
            case Answer():
                return self._recorder.answer(self._running.pop(message.number), message.answer)
            case Again():
                self._recorder.ask_again(self._keys[message.number])
            case Leave():
                self._recorder.leave(message.process)
            case _:
                assert_never(message)
        return True

    def _named(self, told: Ask | Recall) -> KernelRecord:
        origin = msgspec.structs.replace(
            self._origin,
            toolchain={**self._origin.toolchain, **told.device},
            test_id=told.test_id,
            call_site=told.call_site,
            tensor_op=told.tensor_op,
            captured_at=datetime.fromtimestamp(told.at, UTC).isoformat(timespec="seconds"),
        )
        record = msgspec.structs.replace(question_of(told.question), provenance=origin)
        self._keys[told.number] = key_of(record)
        return record


def alone(capture: Capture) -> Listener:
    """A listener in the captured process itself, once the capturing one is gone."""
    losses = Losses(Path(capture.losses))
    return Listener(Recorder(Path(capture.corpus), losses, is_guest=True))
