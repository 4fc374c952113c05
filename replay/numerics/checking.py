"""One kernel run and judged, in a worker. Bytes in, bytes out."""

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from corpus import KernelRecord, Opt
from replay.artefact import Artefact
from replay.isolation.wire import Call
from replay.outcome import Numerics
from replay.recompile import find_checker
from replay.subject import Checked, RefusedError


class Request(msgspec.Struct, frozen=True):
    """What a worker is asked. `old` is what it answered once, to be run beside the new."""

    record: KernelRecord
    opts: tuple[Opt, ...] | None
    old: Artefact | None


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_together = msgspec.msgpack.Decoder(tuple[tuple[Request, ...], float]).decode
_decode_payloads = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode
_decode_elsewhere = msgspec.msgpack.Decoder(tuple[tuple[str, Checked], ...]).decode
_decode_checked = msgspec.msgpack.Decoder(Checked).decode


def call(record: KernelRecord, opts: tuple[Opt, ...] | None, old: Artefact | None) -> Call:
    """The job that runs the kernel of `record`."""
    return call_one(Request(record, opts, old))


def call_one(request: Request) -> Call:
    """The job that runs one kernel."""
    return Call("replay.numerics.checking:check", _encode(request))


def call_elsewhere(record: KernelRecord, opts: tuple[Opt, ...] | None) -> Call:
    """The job that runs the kernel of `record` on all other backends."""
    return Call("replay.numerics.checking:check_elsewhere", _encode(Request(record, opts, None)))


def read_elsewhere(payload: bytes) -> tuple[tuple[str, Checked], ...]:
    """What that answered: targets, and what running the kernel there showed."""
    return _decode_elsewhere(payload)


def read(payload: bytes) -> Checked:
    """What such a job answered."""
    return _decode_checked(payload)


def call_together(requests: Sequence[Request], enough_s: float) -> Call:
    """The job that runs kernels of some records, and begins no other after `enough_s`."""
    return Call("replay.numerics.checking:check_together", _encode((requests, enough_s)))


def read_together(payload: bytes) -> Sequence[bytes]:
    """What that answered: payloads as `read` takes, of the first records; the rest is not known."""
    return _decode_payloads(payload)


def warm_up(backends: Iterable[str]) -> tuple[Call, ...]:
    """The calls that open devices ahead of the first kernel."""
    return tuple(
        Call("replay.numerics.checker:open_ahead", backend.encode()) for backend in backends
    )


def check(payload: bytes) -> bytes:
    """Run the kernel of an encoded Request; give an encoded Checked."""
    request = _decode_request(payload)
    try:
        checker = find_checker(request.record.kind)
        return _encode(checker.check(request.record, request.opts, request.old))
    except RefusedError as refusal:
        return _encode(Checked(numerics=Numerics.WRONG, reason=f"cannot run: {refusal.error}"))


def check_together(payload: bytes) -> bytes:
    """Run the kernels of encoded Requests, built ahead as one; give each that was done in time."""
    begun_s = time.monotonic()
    requests, enough_s = _decode_together(payload)
    checker = find_checker(requests[0].record.kind)
    build: Callable[..., object] | None = getattr(checker, "build_ahead", None)
    if build is not None:
        build([(request.record, request.opts, request.old) for request in requests])
    found: list[bytes] = []
    for request in requests:
        if time.monotonic() - begun_s > enough_s:
            break
        found.append(check(_encode(request)))
    return _encode(found)


def check_elsewhere(payload: bytes) -> bytes:
    """Run the kernel of an encoded Request on other backends; give targets and what they showed."""
    request = _decode_request(payload)
    checker = find_checker(request.record.kind)
    run: Callable[..., object] | None = getattr(checker, "elsewhere", None)
    return _encode(() if run is None else run(request.record, request.opts))
