"""The child of a timed search: builds and runs schedules of one kernel, one after the other.

It may die of what it builds or be killed for being slow; the search goes on with another. It reads
from standard input and ends with it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.backends import (
    Argument,
    Buffer,
    Device,
    Launch,
    Program,
    arguments_of,
    open_device,
    size_value,
    storage_dtype,
)
from compiler.bench.messages import Message, decode, encode, source_of
from compiler.bench.timing import Clock, clock_of_this_process, least_seconds
from compiler.errors import CompilerError
from compiler.estimates import estimates
from compiler.ir import parse_node
from compiler.target import find_target

_PR_SET_PDEATHSIG = 1
_SHORT_S, _SHORT_RUNS = 1e-3, 5


def main(parent: int) -> None:
    """Answer one line for each that comes."""
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the search, which ends its child
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # runtimes print
    lines = sys.stdin.buffer
    worker = Worker(decode(lines.readline()))
    answers.write(encode({"ready": True}))
    for line in lines:
        answers.write(encode(worker.answer(decode(line))))


def _die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, in the midst of a run too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)


class Worker:
    """Holds the memory of one kernel and what has been built of it."""

    def __init__(self, setup: Message) -> None:
        ast = parse_node(str(setup["ast"]))
        self._device: Device = open_device(str(setup["backend"]))
        target = find_target(str(setup["backend"]), str(setup["profile"]))
        arguments = arguments_of(ast)
        self._empty = Program("", "", target, arguments, Launch(), estimates(ast))
        self._variables = {a.name: a.limits[1] for a in arguments if a.limits is not None}
        self._buffers = [self._filled(argument) for argument in arguments if argument.is_buffer]
        self._runs: dict[int, Callable[[int], None]] = {}
        self._clock: Clock = clock_of_this_process()

    def _filled(self, argument: Argument) -> Buffer:
        """Ordinary numbers: subnormals and special values have speeds of their own."""
        size = size_value(argument.size, self._variables)
        rng, dtype = np.random.default_rng(1), storage_dtype(argument.dtype)
        values: Any = rng.integers(0, 2, size)
        if argument.dtype.is_float and dtype.kind == "f":
            values = rng.uniform(0.5, 1.5, size)
        buffer = self._device.allocate(argument.dtype, size)
        self._device.upload(buffer, values.astype(dtype))
        return buffer

    def answer(self, message: Message) -> Message:
        """The answer to one line."""
        if "build" in message:
            number = message["build"]
            assert isinstance(number, int), "written by Bench"
            try:
                return {"seconds": self._build(number, message)}
            except CompilerError as error:
                return {"error": type(error).__name__}
        numbers, turns, least_s = message["time"], message["turns"], message["least_s"]
        assert isinstance(numbers, list), "written by Bench"
        runs = [self._runs[number] for number in numbers]
        return {"seconds": least_seconds(runs, int(str(turns)), float(str(least_s)), self._clock)}

    def _build(self, number: int, message: Message) -> float:
        """Build a program and run it; the seconds of its second run, of some if they are short."""
        source = source_of(message)
        program = replace(self._empty, name=source.name, source=source.text, launch=source.launch)
        launch = self._device.build(program).bind(self._buffers, self._variables)

        def run(count: int) -> None:
            for _ in range(count):
                launch()
            self._device.synchronize()

        run(1)
        self._runs[number] = run
        seconds = self._once(run)
        if seconds < _SHORT_S:  # an interruption would make it look hopeless
            seconds = min([seconds, *[self._once(run) for _ in range(_SHORT_RUNS)]])
        return seconds

    def _once(self, run: Callable[[int], None]) -> float:
        started = self._clock()
        run(1)
        return self._clock() - started
