"""Builds and times schedules of one kernel in a child process, and outlives what they do to it."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO

from compiler.backends import Program
from compiler.bench.messages import Message, decode, encode, program_message
from compiler.errors import DeviceError
from compiler.ir import Node, print_node
from compiler.target import Target

START_LIMIT_S = 60.0
_ROOT = str(Path(__file__).resolve().parents[2])
_START = (
    "import sys; sys.path.insert(0, {root!r}); "
    "from compiler.bench.child import main; main({parent})"
)
_HOPELESS = 3.0  # times as slow as the fastest: once is enough
_TURNS, _LEAST_S = 3, 1e-3
_CAREFUL_TURNS, _CAREFUL_LEAST_S = 11, 2e-3


class _LostError(Exception):
    """The child did not answer; the message is why."""


class Bench:
    """A context manager. A schedule may use `limit_s` seconds to be built and first run."""

    def __init__(self, ast: Node, target: Target, limit_s: float) -> None:
        self._setup: Message = {
            "ast": print_node(ast),
            "backend": target.backend,
            "profile": target.profile,
        }
        self._limit_s = limit_s
        self._child: _Child | None = None
        self._refused: dict[Program, str] = {}  # not tried twice

    @property
    def child_pid(self) -> int | None:
        """The process that builds and runs, while there is one."""
        return None if self._child is None else self._child.process.pid

    def __enter__(self) -> "Bench":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def times(self, programs: Sequence[Program], *, is_careful: bool = False) -> list[float | str]:
        """Seconds of a run of each, all compared with each other; or why one does not run.

        What is hopeless after an early run is not compared, unless this is to be careful: then it
        is a new child that runs them, for how buffers and code came to lie in an old one, which
        some schedules like better than others, is luck.
        """
        if is_careful:
            self._end()
        found = [self._first(program) for program in programs]
        best = min([first for first in found if isinstance(first, float)], default=0.0)
        close = [
            place
            for place, first in enumerate(found)
            if isinstance(first, float) and (is_careful or first <= _HOPELESS * best)
        ]
        turns, least_s = (_CAREFUL_TURNS, _CAREFUL_LEAST_S) if is_careful else (_TURNS, _LEAST_S)
        for place, seconds in zip(
            close, self._turns([programs[place] for place in close], turns, least_s), strict=True
        ):
            found[place] = seconds
        return found

    def _first(self, program: Program) -> float | str:
        """Seconds of an early run, in a child that has built the program."""
        if program in self._refused:
            return self._refused[program]
        try:
            child = self._running()
            if program in child.built:
                return child.built[program].first_s
            number = len(child.built)
            message = {"build": number, **program_message(program)}
            answer = child.ask(message, self._limit_s)
        except _LostError as error:
            self._end()
            self._refused[program] = str(error)
            return str(error)
        if "error" in answer:
            self._refused[program] = str(answer["error"])
            return self._refused[program]
        seconds = float(str(answer["seconds"]))
        child.built[program] = _Built(number, seconds)
        return seconds

    def _turns(self, programs: Sequence[Program], turns: int, least_s: float) -> list[float | str]:
        """Their times against each other. A child that dies now takes the comparison with it."""
        if not programs:
            return []
        firsts = [self._first(program) for program in programs]  # a child may be a new one
        if self._child is None or any(isinstance(first, str) for first in firsts):
            return firsts
        built = [self._child.built[program] for program in programs]
        expected = sum([max(least_s, each.first_s) for each in built]) * (turns + 2)
        message = {"time": [each.number for each in built], "turns": turns, "least_s": least_s}
        try:
            answer = self._child.ask(message, self._limit_s + 10 * expected)
        except _LostError as error:
            self._end()
            return [str(error)] * len(programs)
        seconds = answer["seconds"]
        assert isinstance(seconds, list), "written by the child"
        return [float(each) for each in seconds]

    def _running(self) -> "_Child":
        if self._child is None:
            self._child = _Child.start(self._setup)
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


@dataclass(frozen=True, slots=True)
class _Built:
    """A program that a child holds."""

    number: int
    first_s: float


@dataclass(slots=True)
class _Child:
    """A process; owned by one Bench."""

    process: "subprocess.Popen[bytes]"
    built: dict[Program, _Built] = field(default_factory=dict)
    buffer: bytes = b""

    @classmethod
    def start(cls, setup: Message) -> "_Child":
        """A child with the kernel's memory. DeviceError if there can be none."""
        start = _START.format(root=_ROOT, parent=os.getpid())
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        child = cls(process)
        try:
            child.ask(setup, START_LIMIT_S)
        except _LostError as error:
            child.kill()
            raise DeviceError(f"search: no child to time schedules in: {error}") from None
        return child

    def ask(self, message: Message, limit_s: float) -> Message:
        """The answer to a message. _LostError if none comes in time."""
        stdin = self.process.stdin
        assert stdin is not None, "a pipe"
        try:
            stdin.write(encode(message))
            stdin.flush()
        except BrokenPipeError:
            raise _LostError(self._ending()) from None
        return decode(self._line(time.monotonic() + limit_s, limit_s))

    def _line(self, deadline: float, limit_s: float) -> bytes:
        stdout: IO[bytes] | None = self.process.stdout
        assert stdout is not None, "a pipe"
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stdout], [], [], left)[0]:
                raise _LostError(f"took more than {limit_s:g} s")
            read = os.read(stdout.fileno(), 1 << 16)
            if not read:
                raise _LostError(self._ending())
            self.buffer += read
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def _ending(self) -> str:
        code = self.process.wait()
        return f"ended its process by signal {-code}" if code < 0 else "ended its process"

    def kill(self) -> None:
        """End it and wait for its end."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None, "a pipe"
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # it had something to hear that nobody wants to say any more
        self.process.wait()
