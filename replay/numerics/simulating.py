"""What is asked of a worker that runs kernels inside Oclgrind, and what it answers."""

import msgspec

from corpus import KernelRecord, Opt
from replay.isolation.wire import Call

LOG = "oclgrind.log"  # in the worker's directory, where its environment says


class Request(msgspec.Struct, frozen=True):
    """One kernel, and the opts to compile it with."""

    record: KernelRecord
    opts: tuple[Opt, ...] | None


class Found(msgspec.Struct, frozen=True):
    """What the simulator said of a kernel, in one line each; `why_not` where it was not run."""

    said: tuple[str, ...] = ()
    why_not: str | None = None


encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_found = msgspec.msgpack.Decoder(Found).decode


def call(record: KernelRecord, opts: tuple[Opt, ...] | None) -> Call:
    """The job that runs the kernel of `record` inside the simulator."""
    return Call("replay.numerics.oclgrind:check", encode(Request(record, opts)))


def read(payload: bytes) -> Found:
    """What such a job answered."""
    return _decode_found(payload)
