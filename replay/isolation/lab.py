"""One worker that answers one question after another, and is replaced when a question kills it."""

import queue
import threading
from collections.abc import Iterator
from types import TracebackType

from replay.isolation.wire import Call
from replay.isolation.workers import Crew, Job, Reply, run_jobs


class _OneAtATime(Iterator[Job[None]]):
    """Jobs for run_jobs: waits for a question, but offers none while one is being answered.

    run_jobs asks again after every reply; StopIteration only means "none for now".
    """

    def __init__(self) -> None:
        self.questions: queue.Queue[Call | None] = queue.Queue()
        self.is_busy = False
        self.is_over = False

    def __next__(self) -> Job[None]:
        if self.is_busy or self.is_over:
            raise StopIteration
        call = self.questions.get()
        if call is None:
            self.is_over = True
            raise StopIteration
        self.is_busy = True
        return Job(None, call)


class Lab:
    """A context manager; `ask` may be called from the thread that entered it."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._jobs = _OneAtATime()
        self._replies: queue.Queue[Reply | BaseException] = queue.Queue()
        self._thread = threading.Thread(target=self._serve, name="lab", daemon=True)

    def __enter__(self) -> "Lab":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._jobs.questions.put(None)
        self._thread.join()

    def ask(self, call: Call) -> Reply:
        """The worker's answer to one call, whatever becomes of the worker."""
        self._jobs.questions.put(call)
        reply = self._replies.get()
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def _serve(self) -> None:
        try:
            while not self._jobs.is_over:
                for _, reply in run_jobs(self._jobs, self._crew):
                    self._jobs.is_busy = False
                    self._replies.put(reply)
        except BaseException as error:  # noqa: BLE001  # raised again where the question was asked
            self._replies.put(error)
