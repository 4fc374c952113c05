"""What travels between a replay and its workers: length-prefixed msgpack, versioned, never pickles.

A worker runs untrusted sources, so whatever it sends is data of these types or nothing.
"""

import os
import struct

import msgspec

WIRE = 1
MAX_FRAME_BYTES = 256 << 20
_LENGTH = struct.Struct(">I")


class Call(msgspec.Struct, frozen=True):
    """One job: a function of bytes to bytes, named module:name."""

    function: str
    payload: bytes


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The first message to a worker."""

    wire: int = WIRE
    paths: tuple[str, ...] = ()  # searched for the compiler under test, before all others
    imports: tuple[str, ...] = ()  # imported from those paths before the first job
    subject: str | None = None  # another compiler than ours: module:object, or file.py:object
    warm_up: tuple[Call, ...] = ()  # made before the first job, whose time they would take
    memory_bytes: int | None = None
    work_dir: str | None = None  # the only directory a sandboxed worker may write to


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker's answer to Setup. `sandbox` names what holds it; `peak_bytes` is the most memory
    that the system says it has held, which on Linux is at least what its parent held."""

    wire: int
    sandbox: tuple[str, ...]
    peak_bytes: int


class Done(msgspec.Struct, frozen=True, tag="done"):
    payload: bytes


class Raised(msgspec.Struct, frozen=True, tag="raised"):
    """An exception that nobody expected."""

    error: str
    traceback: str


class OutOfMemory(msgspec.Struct, frozen=True, tag="memory"):
    """`is_own`: the job itself had taken nearly all, whatever its predecessors left behind."""

    reason: str
    is_own: bool = False


Message = Ready | Done | Raised | OutOfMemory


def frame(message: msgspec.Struct) -> bytes:
    """One message as it travels."""
    body = msgspec.msgpack.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"message of {len(body)} bytes, {MAX_FRAME_BYTES} are allowed")
    return _LENGTH.pack(len(body)) + body


def write_frame(descriptor: int, message: msgspec.Struct) -> None:
    """Write one message, whole."""
    rest = memoryview(frame(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_frame(descriptor: int) -> bytes | None:
    """Read one message's body; None at the end of the stream."""
    head = _read(descriptor, _LENGTH.size)
    return None if head is None else _read(descriptor, _LENGTH.unpack(head)[0])


def take_frame(buffer: bytearray) -> bytes | None:
    """Take one whole message's body off the front of what has been read so far, if there is one."""
    if len(buffer) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack_from(buffer)
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"message of {size} bytes, {MAX_FRAME_BYTES} are allowed")
    end = _LENGTH.size + size
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    return body


def _read(descriptor: int, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
