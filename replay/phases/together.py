"""Kernels that are run in batches, since their driver builds many as fast as one.

A batch can only acquit: what comes out wrong, what there was no time for, and every kernel of a
batch that ended badly is built and run once more, on its own.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from corpus import Stored
from replay.capture.records import KIND
from replay.isolation.wire import Done
from replay.isolation.workers import Job, Reply
from replay.numerics import checking
from replay.outcome import Facet, Numerics
from replay.phases.plan import Plan, Replayed, Source
from replay.recompile import Mode
from replay.recorded import replayed_opts

_TARGETS = "opencl/"  # whose drivers read 17,000 lines of headers for each program
_MOST = 32  # kernels in a batch: by then what they share is a tenth of the work of each
_PER_WORKER = 2  # batches at least, so that no worker waits long for the last one

Batch = tuple[Stored, ...]


def jobs_together(
    source: Source, plan: Plan, found: Replayed, keys: Sequence[str]
) -> Iterator[Job[Batch]]:
    """The jobs that run the kernels of `keys`, those that gain by it in batches."""
    batched = [key for key in keys if found.results[key].target.startswith(_TARGETS)]
    chosen = frozenset(batched)
    size = max(1, min(_MOST, -(-len(batched) // (plan.crew.size * _PER_WORKER))))
    ours = (each for each in source.stored(batched) if each.record.kind == KIND)
    while batch := tuple(islice(ours, size)):
        yield _job(batch, plan, found)
    for stored in source.stored(keys):
        if stored.key not in chosen or stored.record.kind != KIND:
            yield _job((stored,), plan, found)


def answers(batch: Batch, reply: Reply) -> Iterator[tuple[Stored, Reply | None]]:
    """What is known of each kernel of such a job; None where it has to run on its own."""
    if len(batch) == 1:
        yield batch[0], reply
        return
    payloads = checking.read_together(reply.payload) if isinstance(reply, Done) else ()
    for number, stored in enumerate(batch):
        is_right = number < len(payloads) and not _is_wrong(payloads[number])
        yield stored, Done(payloads[number]) if is_right else None


def request_of(stored: Stored, plan: Plan, found: Replayed) -> checking.Request:
    """What a worker is asked of one record. An old kernel of other arguments cannot run beside."""
    result = found.results[stored.key]
    opts = replayed_opts(stored.record, is_free=plan.mode is Mode.FREE)
    old = None if Facet.ARGUMENTS in result.facets else result.old
    return checking.Request(stored.record, opts, old)


def _job(batch: Batch, plan: Plan, found: Replayed) -> Job[Batch]:
    requests = [request_of(stored, plan, found) for stored in batch]
    if len(requests) == 1:
        return Job(batch, checking.call_one(requests[0]))
    enough_s = plan.crew.limits.time_s / 2  # which holds for the whole job
    return Job(batch, checking.call_together(requests, enough_s))


def _is_wrong(payload: bytes) -> bool:
    return checking.read(payload).numerics is Numerics.WRONG
