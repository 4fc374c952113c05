"""Hears all processes of a captured program, each on a connection of its own."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator
from contextlib import suppress

from replay.capture.link import AWAITED, WAIT_S
from replay.capture.listener import Listener
from replay.capture.recorder import Recorder

STORED, LOST = b"+", b"-"
_MAX_FRAME_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20
_MAX_ROUNDS = 100_000


class Relay:
    """Accepts connections on `server` and hears them, in one thread, until told to stop."""

    def __init__(self, server: socket.socket, recorder: Recorder) -> None:
        self._server = server
        self._recorder = recorder
        self._selector = selectors.DefaultSelector()
        server.settimeout(0)
        self._selector.register(server, selectors.EVENT_READ)

    def serve(self, stop: int) -> None:
        """Hear what comes until the descriptor `stop` can be read, and all that came before."""
        self._selector.register(stop, selectors.EVENT_READ)
        while stop not in self._hear_ready(timeout_s=None):
            pass
        self._selector.unregister(stop)
        for _ in range(_MAX_ROUNDS):  # one that goes on for ever shall not keep us
            if not self._hear_ready(timeout_s=0):
                return

    def close(self) -> None:
        """Hang up. Processes that go on write to the corpus themselves from now on."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Connection):
                key.data.close()
        self._server.close()
        self._selector.close()

    def _hear_ready(self, timeout_s: float | None) -> set[object]:
        """Hear all that can be read without waiting any more; give what could be read."""
        found: set[object] = set()
        for key, _ in self._selector.select(timeout_s):
            found.add(key.fileobj)
            if key.fileobj is self._server:
                self._accept()
            elif isinstance(key.data, _Connection) and not key.data.hear():
                self._selector.unregister(key.fileobj)
                key.data.close()
        return found

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            return  # it is gone again
        heard = _Connection(connection, Listener(self._recorder))
        self._selector.register(connection, selectors.EVENT_READ, heard)


class _Connection:
    """One process: the bytes of it that are no whole frame yet, and who hears it."""

    def __init__(self, connection: socket.socket, listener: Listener) -> None:
        self._connection = connection
        self._listener = listener
        self._buffer = bytearray()
        connection.settimeout(WAIT_S)

    def close(self) -> None:
        self._connection.close()

    def hear(self) -> bool:
        """Read and act on what is there; False once the other side is gone, or makes no sense."""
        try:
            block = self._connection.recv(_BLOCK_BYTES)
        except OSError:
            return False
        self._buffer += block
        for frame in self._frames():
            is_stored = self._listener.hear(frame)
            if frame.startswith(AWAITED):
                self._acknowledge(STORED if is_stored else LOST)
        return bool(block) and len(self._buffer) < _MAX_FRAME_BYTES

    def _frames(self) -> Iterator[bytes]:
        while len(self._buffer) >= 4:
            end = 4 + int.from_bytes(self._buffer[:4], "big")
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[4:end])
            del self._buffer[:end]
            yield frame

    def _acknowledge(self, how: bytes) -> None:
        with suppress(OSError):  # it has died since, and its record is stored
            self._connection.sendall(how)
