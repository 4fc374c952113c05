"""The observer inside a captured program: tells the capturing process of every compile.

It imports little, for the program waits for it. `Link` says how what is told gets there.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from compiler import compile_kernel
from replay.capture.callsite import call_site
from replay.capture.environment import captures
from replay.capture.foreign import pass_on
from replay.capture.link import Link, Told
from replay.capture.plain import Plain, plain_answer, plain_device, plain_question, plain_stages

if TYPE_CHECKING:
    from compiler import CompileEvent

_MAX_QUESTIONS = 4096  # as many as a program keeps built kernels of


def observer(begun_with: Mapping[str, str], environ: Mapping[str, str]) -> Observer:
    """The observer of this process, for all captures that it was begun with."""
    return Observer([Link(capture) for capture in captures(begun_with)], environ)


class Observer:
    """Tells all links of every event of the compiler, in whichever thread it comes."""

    def __init__(self, links: list[Link], environ: Mapping[str, str]) -> None:
        self._links = links
        self._environ = environ
        self._running = threading.local()
        self._numbers = count()
        self._asked: dict[object, Told] = {}  # questions that may be answered from caches
        self._handlers: Mapping[str, Callable[[Any], None]] = {
            "CompileStarted": self._start,
            "CompileFinished": self._finish,
            "CompileFailed": self._fail,
            "CompileReused": self._reuse,
        }
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._leave)

    def __call__(self, event: CompileEvent) -> None:
        """Tell of one event. Raises nothing of its own."""
        handle = self._handlers.get(type(event).__name__)
        try:
            if handle is not None:
                handle(event)
        except Exception as error:  # noqa: BLE001  # the program's own result comes first
            pass_on(error)
            for link in self._links:
                link.lose(error)

    def _start(self, event: Any) -> None:  # noqa: ANN401  # of whichever compiler runs
        question = (event.ast, event.target, event.options, event.opts)
        told = self._told(event, plain_question(*question))
        self._stack().append((event, told))
        for link in self._links:
            link.ask(told)
        if len(self._asked) >= _MAX_QUESTIONS:
            self._asked.clear()
        self._asked[question] = told

    def _finish(self, event: Any) -> None:  # noqa: ANN401  # of whichever compiler runs
        compiled = event.compiled
        self._end(event, {**plain_answer(compiled), "stages": plain_stages(compiled)})

    def _fail(self, event: Any) -> None:  # noqa: ANN401  # of whichever compiler runs
        self._end(event, {"error": event.error})

    def _end(self, event: Any, answer: Plain) -> None:  # noqa: ANN401  # of whichever compiler runs
        told = self._begun(event.started)
        if told is None:
            return  # it was lost when it started
        for link in self._links:
            link.answer(told, answer)
        if not self._depth():
            self._confirm()

    def begin_batch(self) -> None:
        """Compiles of this thread belong together from here on: nobody has their results yet."""
        self._running.depth = self._depth() + 1

    def end_batch(self) -> None:
        """Somebody gets the results: see that they are on disk. Raises nothing of its own."""
        self._running.depth = self._depth() - 1
        try:
            if not self._depth():
                self._confirm()
        except Exception as error:  # noqa: BLE001  # the program's own result comes first
            pass_on(error)
            for link in self._links:
                link.lose(error)

    def _depth(self) -> int:
        return getattr(self._running, "depth", 0)

    def _confirm(self) -> None:
        for link in self._links:
            link.confirm()

    def _reuse(self, event: Any) -> None:  # noqa: ANN401  # of whichever compiler runs
        question = (event.ast, event.target, event.options, event.opts)
        told = self._asked.get(question)
        if told is None:  # it was answered before we listened; so it is asked, for us to hear
            compile_kernel(*question)
            return
        for link in self._links:
            link.ask_again(told)

    def _told(self, event: Any, question: Plain) -> Told:  # noqa: ANN401  # of whichever compiler
        test = self._environ.get("PYTEST_CURRENT_TEST")
        site, tensor_op = call_site(sys._getframe())  # noqa: SLF001  # what inspect does, slowly
        return Told(
            number=next(self._numbers),
            question=question,
            test_id=test.rpartition(" ")[0] if test else None,
            call_site=site,
            tensor_op=tensor_op,
            device=plain_device(event.target),
            at=time.time(),
        )

    def _begun(self, started: object) -> Told | None:
        """What was told of the start of what has ended; compiles nest, on one thread."""
        stack = self._stack()
        while stack:
            event, told = stack.pop()
            if event is started:
                return told
        return None

    def _stack(self) -> list[tuple[object, Told]]:
        if not hasattr(self._running, "stack"):
            self._running.stack = []
        stack: list[tuple[object, Told]] = self._running.stack
        return stack

    def _leave(self) -> None:
        for link in self._links:
            link.leave()

    def _after_fork(self) -> None:
        for link in self._links:
            link.after_fork()
