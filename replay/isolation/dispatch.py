"""Runs jobs in child processes so that a bad one costs only itself.

One loop, no threads: it sends jobs to workers, waits for answers and deadlines, ends what is late,
and starts a replacement for what died. A job whose worker died is tried once more, alone in a
fresh worker, before it is blamed: the damage may have been its predecessor's.
"""

import os
import select
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Generic, TypeVar

import msgspec

from replay.bytecode import drop_stale
from replay.errors import WorkerError
from replay.isolation.patience import starved_s
from replay.isolation.wire import (
    WIRE,
    Message,
    OutOfMemory,
    Ready,
    Setup,
    frame,
    take_frame,
)
from replay.isolation.worker import START
from replay.isolation.workers import Crew, Died, Job, Reply, TimedOut
from replay.scratch import scratch_directory
from replay.tree import ROOT

T = TypeVar("T")
START_LIMIT_S = 120.0
_HELD_S = 0.1  # the work that a worker holds, so that it never waits for us
_LEAST, _MOST = 2, 32  # jobs that it holds, whatever it has needed for one until now
_BEAT_S = 1.0  # we look this often, so twice as long between two looks says that all stood still
_PAUSE_S = 0.005  # between two looks at what has come, so that answers come by the dozen
_LOG_BYTES = 4000
_NEAR_THE_LIMIT = 0.8
_MEMORY_WORDS = ("out of memory", "bad_alloc", "Cannot allocate memory", "MemoryError")
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_decode = msgspec.msgpack.Decoder(Message).decode


@dataclass(slots=True)
class _Task(Generic[T]):
    job: Job[T]
    is_suspect: bool = False


@dataclass(slots=True)
class _Worker(Generic[T]):
    """One child process. Changed only by the dispatcher that owns it."""

    process: "subprocess.Popen[bytes]"
    outgoing: int
    incoming: int
    log: IO[bytes]
    deadline: float
    tasks: deque[_Task[T]] = field(default_factory=deque)
    buffer: bytearray = field(default_factory=bytearray)  # read, and not yet a whole message
    unsent: bytearray = field(default_factory=bytearray)
    is_ready: bool = False
    first_peak_bytes: int = 0  # before any job, and so no job's doing
    answered: int = 0
    pace_s: float = _HELD_S / 3  # for one job, about
    last_s: float = 0.0  # when it last answered
    begun_s: float = 0.0  # when it could begin what it works at
    starved_s: float = 0.0  # for how long it had no core until then

    def begin(self, limit_s: float) -> None:
        """It can work at the next job from now on."""
        self.begun_s = time.monotonic()
        self.starved_s = starved_s(self.process.pid)
        self.deadline = self.begun_s + limit_s

    def wait_on(self, limit_s: float) -> bool:
        """Whether its deadline lies in the future, now that it is known how it was starved."""
        extra = max(0.0, starved_s(self.process.pid) - self.starved_s)
        self.deadline = self.begun_s + limit_s + extra
        return self.deadline > time.monotonic()

    @property
    def room(self) -> int:
        """How many jobs it may hold."""
        return max(_LEAST, min(_MOST, round(_HELD_S / max(self.pace_s, 1e-6))))

    def keep_pace(self, now_s: float) -> None:
        """An answer has come."""
        self.answered += 1
        self.pace_s += (now_s - self.last_s - self.pace_s) / 8
        self.last_s = now_s


def dispatch(first: Job[T], others: Iterator[Job[T]], crew: Crew) -> Iterator[tuple[Job[T], Reply]]:
    """Run every job; yield each with its reply, as they come. Closing the iterator ends it all.

    `others` may end and go on: it is asked again after every reply.
    """
    for root in crew.paths or (Path(ROOT),):
        drop_stale(root / "compiler")
    with scratch_directory("workers") as directory:
        dispatcher = _Dispatcher(first, others, crew, directory)
        with closing(dispatcher):
            yield from dispatcher.run()


class _Dispatcher(Generic[T]):
    """Owns the workers of one call of run_jobs."""

    def __init__(
        self, first: Job[T], others: Iterator[Job[T]], crew: Crew, directory: Path
    ) -> None:
        self._others = others
        self._crew = crew
        self._directory = directory
        self._selector = selectors.DefaultSelector()
        self._returned = deque([_Task(first)])  # the first, and what an ended worker held
        self._suspects: deque[_Task[T]] = deque()  # each needs a fresh worker
        self._started = 0
        self._looked_s = time.monotonic()

    def run(self) -> Iterator[tuple[Job[T], Reply]]:
        for _ in range(self._crew.size):
            self._start_if_needed()
        while workers := self._workers():
            if all(len(worker.tasks) > _LEAST for worker in workers):
                time.sleep(_PAUSE_S)
            yield from self._look(min(worker.deadline for worker in workers))
            now = self._forgive_a_pause()
            for worker in self._workers():
                if worker.deadline <= now and not _has_spoken(worker) and not self._waits(worker):
                    yield from self._expire(worker)

    def _look(self, until_s: float) -> Iterator[tuple[Job[T], Reply]]:
        """Wait for answers, or for room to write, and deal with what there is."""
        wait_s = min(_BEAT_S, until_s - time.monotonic())
        for key, events in self._selector.select(max(0.0, wait_s)):
            if key.data.process.returncode is not None:
                continue  # ended by an earlier event of this round
            if events & selectors.EVENT_READ:
                yield from self._read(key.data)
            else:
                self._write(key.data)

    def _forgive_a_pause(self) -> float:
        """The clock goes on while a machine or container is paused: that is no worker's time.

        Gives what the clock says now.
        """
        before_s, self._looked_s = self._looked_s, time.monotonic()
        gap_s = self._looked_s - before_s
        if gap_s > 2 * _BEAT_S:
            for worker in self._workers():
                worker.begun_s += gap_s
                worker.deadline += gap_s
        return self._looked_s

    def close(self) -> None:
        """End every worker that is left."""
        for worker in self._workers():
            self._end(worker)
        self._selector.close()

    def _workers(self) -> list[_Worker[T]]:
        keys = self._selector.get_map().values()
        return [key.data for key in keys if key.events & selectors.EVENT_READ]

    def _next_task(self, *, is_fresh: bool) -> _Task[T] | None:
        if is_fresh and self._suspects:
            return self._suspects.popleft()
        if self._returned:
            return self._returned.popleft()
        job = next(self._others, None)
        return None if job is None else _Task(job)

    def _start_if_needed(self) -> None:
        task = self._next_task(is_fresh=True)
        if task is not None:
            self._feed(self._start(), task)

    def _start(self) -> _Worker[T]:
        work_dir = self._directory / f"worker-{self._started}"
        work_dir.mkdir()
        to_child, outgoing = os.pipe()
        incoming, from_child = os.pipe()
        log = tempfile.TemporaryFile(dir=self._directory)  # noqa: SIM115  # closed with the worker
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(to_child), str(from_child), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environ(self._crew, work_dir, self._started),
            cwd=work_dir,
            pass_fds=(to_child, from_child),
            start_new_session=True,  # ctrl-C is for us; we end the children
        )
        self._started += 1
        os.set_blocking(outgoing, False)
        os.close(to_child)
        os.close(from_child)
        deadline = time.monotonic() + START_LIMIT_S
        worker: _Worker[T] = _Worker(process, outgoing, incoming, log, deadline)
        self._selector.register(incoming, selectors.EVENT_READ, worker)
        limits = self._crew.limits
        self._send(
            worker,
            Setup(
                paths=tuple(str(path) for path in self._crew.paths),
                imports=self._crew.imports,
                subject=self._crew.subject,
                warm_up=self._crew.warm_up,
                memory_bytes=limits.memory_bytes,
                work_dir=str(work_dir) if self._crew.sandboxed else None,
            ),
        )
        return worker

    def _send(self, worker: _Worker[T], message: msgspec.Struct) -> None:
        worker.unsent += frame(message)
        self._write(worker)

    def _write(self, worker: _Worker[T]) -> None:
        """Write what the pipe takes; the rest when there is room. A worker that is itself writing
        does not read, so waiting for it here would never end."""
        try:
            del worker.unsent[: os.write(worker.outgoing, worker.unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # one that is dead is noticed at the end of its other pipe
            worker.unsent.clear()
        is_waiting = worker.outgoing in self._selector.get_map()
        if worker.unsent and not is_waiting:
            self._selector.register(worker.outgoing, selectors.EVENT_WRITE, worker)
        elif is_waiting and not worker.unsent:
            self._selector.unregister(worker.outgoing)

    def _feed(self, worker: _Worker[T], task: _Task[T]) -> None:
        if not worker.tasks and worker.is_ready:
            worker.begin(self._crew.limits.time_s)
        worker.tasks.append(task)
        if worker.is_ready:
            worker.unsent += frame(task.job.call)  # written by `_fill`, with others

    def _fill(self, worker: _Worker[T]) -> None:
        """Give the worker what it may hold; end it when there is nothing left for it to do."""
        while len(worker.tasks) < worker.room and not any(task.is_suspect for task in worker.tasks):
            task = self._next_task(is_fresh=worker.answered == 0 and not worker.tasks)
            if task is None:
                break
            self._feed(worker, task)
        if worker.unsent:
            self._write(worker)
        if not worker.tasks:
            self._end(worker)
            self._start_if_needed()

    def _read(self, worker: _Worker[T]) -> Iterator[tuple[Job[T], Reply]]:
        data = os.read(worker.incoming, 1 << 20)
        if not data:
            yield from self._bury(worker)
            return
        worker.buffer += data
        if worker.is_ready:
            worker.begin(self._crew.limits.time_s)  # once for all answers that have come
        while True:
            try:
                body = take_frame(worker.buffer)
                message = None if body is None else _decode(body)
            except (ValueError, msgspec.MsgspecError):
                yield from self._silence(worker)
                return
            if message is None:
                break
            yield from self._receive(worker, message)
            if worker.process.returncode is not None:
                return  # ended for what it said; what else it held is done by another
        if worker.is_ready:
            self._fill(worker)

    def _receive(self, worker: _Worker[T], message: Message) -> Iterator[tuple[Job[T], Reply]]:
        if isinstance(message, Ready):
            if message.wire != WIRE:
                raise WorkerError(f"worker speaks version {message.wire}, {WIRE} is spoken here")
            worker.is_ready = True
            worker.first_peak_bytes = message.peak_bytes
            worker.last_s = time.monotonic()
            worker.begin(self._crew.limits.time_s)
            for task in worker.tasks:
                worker.unsent += frame(task.job.call)
            return
        task = worker.tasks.popleft()
        if isinstance(message, OutOfMemory):
            yield from self._blame(worker, task, message)
            return
        worker.keep_pace(time.monotonic())
        yield task.job, message

    def _waits(self, worker: _Worker[T]) -> bool:
        return worker.is_ready and worker.wait_on(self._crew.limits.time_s)

    def _expire(self, worker: _Worker[T]) -> Iterator[tuple[Job[T], Reply]]:
        if not worker.is_ready:
            self._end(worker)
            raise WorkerError(f"worker did not start within {START_LIMIT_S:.0f} s: {_tail(worker)}")
        task = worker.tasks.popleft()
        self._replace(worker)
        yield task.job, TimedOut(self._crew.limits.time_s)

    def _bury(self, worker: _Worker[T]) -> Iterator[tuple[Job[T], Reply]]:
        status, peak_bytes = self._end(worker)
        if not worker.is_ready:
            raise WorkerError(f"worker did not start: {_last_line(_tail(worker))}")
        task = worker.tasks.popleft()
        log = _tail(worker)
        limit = _NEAR_THE_LIMIT * self._crew.limits.memory_bytes
        is_full = peak_bytes > max(limit, worker.first_peak_bytes)
        if is_full or any(word in log for word in _MEMORY_WORDS):
            full = OutOfMemory(f"{_ending(status)}; {_last_line(log)}")
            yield from self._blame(worker, task, full)
        else:
            by_another = -status in _FROM_OUTSIDE
            yield from self._blame(worker, task, Died(_ending(status), log, by_another))

    def _silence(self, worker: _Worker[T]) -> Iterator[tuple[Job[T], Reply]]:
        """End a worker that says what none says: what it runs has written to its pipe."""
        self._end(worker)
        if not worker.is_ready:
            raise WorkerError(f"worker did not start: {_last_line(_tail(worker))}")
        if worker.tasks:
            died = Died("an answer that cannot be read", _tail(worker), by_another=False)
            yield from self._blame(worker, worker.tasks.popleft(), died)
        else:
            self._replace(worker)

    def _blame(
        self, worker: _Worker[T], task: _Task[T], reply: Died | OutOfMemory
    ) -> Iterator[tuple[Job[T], Reply]]:
        """Blame a job that was alone in its worker, or filled its memory by itself; try any other
        once more, alone, and also one whose worker was ended from outside."""
        is_accident = isinstance(reply, Died) and reply.by_another and not task.is_suspect
        is_own = isinstance(reply, OutOfMemory) and reply.is_own
        if is_own or (worker.answered == 0 and not is_accident):
            self._replace(worker)
            yield task.job, reply
        else:
            self._suspects.append(_Task(task.job, is_suspect=True))
            self._replace(worker)

    def _replace(self, worker: _Worker[T]) -> None:
        """End a worker and start another for what it still held."""
        self._end(worker)
        self._returned.extend(worker.tasks)
        worker.tasks.clear()
        self._start_if_needed()

    def _end(self, worker: _Worker[T]) -> tuple[int, int]:
        """Kill and reap a worker. Returns its wait status and its peak memory in bytes."""
        if worker.process.returncode is not None:
            return worker.process.returncode, 0
        self._selector.unregister(worker.incoming)
        worker.buffer.clear()  # answers to jobs that others are given now
        if worker.outgoing in self._selector.get_map():
            self._selector.unregister(worker.outgoing)
        with suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(worker.process.pid, 0)
        worker.process.returncode = os.waitstatus_to_exitcode(status)
        os.close(worker.outgoing)
        os.close(worker.incoming)
        return worker.process.returncode, usage.ru_maxrss * 1024


def _has_spoken(worker: _Worker[T]) -> bool:
    """Whether an answer waits: the caller may have been slow, not the worker."""
    return bool(select.select([worker.incoming], [], [], 0)[0])


def _environ(crew: Crew, work_dir: Path, number: int) -> dict[str, str]:
    own = str(work_dir)
    return {
        **crew.environ,
        "PYTHONHASHSEED": str((crew.hash_seed + number) % 4294967295),
        "TMPDIR": own,
        "XDG_CACHE_HOME": own,
        "POCL_CACHE_DIR": own,  # one that is shared while cold gives spurious build failures
    }


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"


def _tail(worker: _Worker[T]) -> str:
    log = worker.log
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG_BYTES))
    return log.read().decode(errors="replace").strip()


def _last_line(text: str) -> str:
    return text.splitlines()[-1].strip() if text else "nothing was said"
