"""The jobs of a replay on the machines of a Dask cluster; the one module that knows of Dask.

A task is a batch of jobs. It runs in isolated workers of our own inside the cluster's worker, so a
kernel that crashes or hangs ends none of those. What travels is bytes of ours: Dask pickles them,
and no record, source or answer of a kernel is ever an object to it. A batch whose machine is lost
is run again elsewhere, by the scheduler; what the cluster cannot do at all is done here.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec
from distributed import Client, Future, get_worker, wait
from distributed.scheduler import KilledWorker

from replay.capture.environment import without_capture
from replay.errors import WorkerError
from replay.fingerprint import identity_of
from replay.isolation.wire import Call
from replay.isolation.workers import Crew, Job, Limits, Reply, run_jobs
from replay.tree import ROOT

T = TypeVar("T")

_MOST = 256  # jobs of a batch; starting a worker for it takes as long as a hundred compiles
_AHEAD = 2  # batches for each thread of the cluster
_CONNECT_S = 10
_LOOK_S = 5.0  # between two looks at whether there is still a cluster
_DESERTED = 6  # such looks in a row that find no machine


class _Batch(msgspec.Struct, frozen=True):
    """A task. `identity` names the code that it must be run with."""

    identity: str
    calls: tuple[Call, ...]
    paths: tuple[str, ...]
    imports: tuple[str, ...]
    warm_up: tuple[Call, ...]
    subject: str | None
    hash_seed: int
    sandboxed: bool
    time_s: float
    memory_bytes: int


class _Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    reason: str


class _Replies(msgspec.Struct, frozen=True, tag="replies"):
    """In the order of the calls."""

    replies: tuple[Reply, ...]


_encode = msgspec.msgpack.Encoder().encode
_decode_batch = msgspec.msgpack.Decoder(_Batch).decode
_decode_answer = msgspec.msgpack.Decoder(_Replies | _Refusal).decode


@contextmanager
def connected(address: str) -> Iterator["DaskRunner"]:
    """A runner on the cluster whose scheduler is at `address`, for the length of a with block."""
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise WorkerError(f"--executor {address}: no scheduler answers there: {error}") from None
    try:
        yield DaskRunner(client)
    finally:
        client.close()


class DaskRunner:
    """Runs jobs on a cluster as `run_jobs` does here."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(self, jobs: Iterable[Job[T]], crew: Crew) -> Iterator[tuple[Job[T], Reply]]:
        """Run every job; yield each with its reply, as they come."""
        left = iter(jobs)
        running: dict[Future[bytes], Sequence[Job[T]]] = {}
        deserted = 0
        try:
            while self._refill(running, left, crew) or running:
                done = _finished(running)
                deserted = deserted + 1 if not done and not self._threads() else 0
                if deserted >= _DESERTED:
                    done = list(running)
                for future in done:
                    batch = running.pop(future)
                    yield from _replies(future, batch, crew)
        finally:
            self._client.cancel(list(running))

    def _threads(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(worker["nthreads"] for worker in workers)

    def _refill(
        self, running: dict[Future[bytes], Sequence[Job[T]]], left: Iterator[Job[T]], crew: Crew
    ) -> bool:
        """Keep every thread busy; few jobs are spread over all. Says whether anything was begun."""
        threads = max(1, self._threads())
        free = threads * _AHEAD - len(running)
        if free < threads and running:
            return False
        jobs = list(islice(left, free * _MOST))
        size = min(_MOST, -(-len(jobs) // threads))
        for start in range(0, len(jobs), size or 1):
            batch = jobs[start : start + size]
            task = _encode(_batch(batch, crew))
            running[self._client.submit(run_batch, task, pure=False)] = batch
        return bool(jobs)


def _finished(running: dict[Future[bytes], Sequence[Job[T]]]) -> list[Future[bytes]]:
    try:
        return list(wait(list(running), timeout=_LOOK_S, return_when="FIRST_COMPLETED").done)
    except TimeoutError:
        return []


def _replies(
    future: Future[bytes], batch: Sequence[Job[T]], crew: Crew
) -> Iterator[tuple[Job[T], Reply]]:
    """What became of a batch; what the cluster lost for good is run on this machine."""
    error = future.exception() if future.status == "error" else None
    if error is None and future.status == "finished":
        answer = _decode_answer(future.result())
        if isinstance(answer, _Refusal):
            raise WorkerError(f"--executor: {answer.reason}")
        yield from zip(batch, answer.replies, strict=True)
    elif error is None or isinstance(error, KilledWorker | OSError):
        yield from run_jobs(batch, crew)
    else:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise WorkerError(f"--executor: a machine of the cluster cannot run a replay: {said}")


def _batch(jobs: Sequence[Job[T]], crew: Crew) -> _Batch:
    return _Batch(
        identity=_identity(crew.paths),
        calls=tuple(job.call for job in jobs),
        paths=tuple(map(str, crew.paths)),
        imports=crew.imports,
        warm_up=crew.warm_up,
        subject=crew.subject,
        hash_seed=crew.hash_seed,
        sandboxed=crew.sandboxed,
        time_s=crew.limits.time_s,
        memory_bytes=crew.limits.memory_bytes,
    )


def _identity(paths: tuple[Path, ...]) -> str:
    """Of the code as it is now: a machine of a cluster outlives what is installed on it."""
    return identity_of(paths or (Path(ROOT),), ())


# --- on the cluster ---


def run_batch(task: bytes) -> bytes:
    """Run the calls of an encoded _Batch; give an encoded _Replies or _Refusal."""
    batch = _decode_batch(task)
    paths = tuple(map(Path, batch.paths))
    if _identity(paths) != batch.identity:
        reason = "has another compiler, replay or toolchain; install there what is installed here"
        return _encode(_Refusal(f"{get_worker().address} {reason}"))
    environ = os.environ  # noqa: TID251  # of this machine: the client's means nothing here
    crew = Crew(
        environ=without_capture(environ),
        limits=Limits(batch.time_s, batch.memory_bytes),
        paths=paths,
        imports=batch.imports,
        warm_up=batch.warm_up,
        subject=batch.subject,
        hash_seed=batch.hash_seed,
        sandboxed=batch.sandboxed,
    )
    jobs = [Job(number, call) for number, call in enumerate(batch.calls)]
    found = {job.tag: reply for job, reply in run_jobs(jobs, crew)}
    return _encode(_Replies(tuple(found[number] for number in range(len(jobs)))))
