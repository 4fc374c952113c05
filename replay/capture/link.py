"""From a captured process to the corpus: through the capturing process, or directly.

The capturing process listens on a socket while the program runs, and writes what it is told on
another core. When `confirm` returns, all answers are on disk; until then they wait in the socket,
even if this process dies. If the other side is gone (it was killed, or this process outlived the
program), the corpus is written from here.

A frame is its length, 4 bytes big-endian, and JSON; each answer is acknowledged by one byte.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from _socket import AF_UNIX, SOCK_STREAM, socket
from typing import TYPE_CHECKING, NamedTuple

from msgspec.json import encode

import compiler
from replay.capture.environment import Capture
from replay.capture.foreign import pass_on

if TYPE_CHECKING:
    from replay.capture.listener import Listener
    from replay.capture.plain import Plain

WAIT_S = 60.0
"""How long an answer is waited for: longer than the other side waits for a locked corpus."""


AWAITED = b'{"kind":"answer",'
"""How the frames begin that are acknowledged."""


class Told(NamedTuple):
    """What is told of a compile that begins. `number` names it in this process."""

    number: int
    question: Plain
    test_id: str | None
    call_site: str | None
    tensor_op: str | None
    device: dict[str, str]  # versions that only an open device can tell
    at: float


class _ClosedError(ConnectionError):
    """The program has closed our descriptor, and may use its number."""


class Link:
    """Tells one capture of compiles; threads share it. Nobody else uses its socket."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._socket: socket | None = None
        self._inode = 0
        self.after_fork()

    def after_fork(self) -> None:
        """Begin anew: what the parent process holds is not this one's to use."""
        self._lock = threading.RLock()  # held while something is told
        self._let_go()
        self._local: Listener | None = None  # once the other side is gone
        self._known: set[int] = set()  # numbers that whoever listens now has been told of
        self._unconfirmed: list[tuple[Told, Plain]] = []  # answers that may not be on disk yet

    def ask(self, told: Told) -> None:
        """Tell of a question before it is compiled."""
        self._tell(told, "ask")

    def answer(self, told: Told, answer: Plain) -> None:
        """Tell how its compile ended. It is on disk when `confirm` has returned."""
        with self._lock:
            self._tell(told, "ask", _answered(told, answer))
            if self._local is None:
                self._unconfirmed.append((told, answer))

    def confirm(self) -> None:
        """Wait until all answers are on disk."""
        with self._lock:
            while self._unconfirmed:
                try:
                    count = len(self._connected().recv(len(self._unconfirmed)))
                    if not count:
                        raise ConnectionError("the other side has gone")
                    del self._unconfirmed[:count]
                except BaseException as error:  # noqa: BLE001  # none is forgotten
                    self._recover(error)

    def ask_again(self, told: Told) -> None:
        """Tell that the program answered a question from a cache of its own."""
        self._tell(told, "recall", {"kind": "again", "number": told.number})

    def leave(self) -> None:
        """Tell that this process is about to end: it has things of its own to do until then."""
        if self._socket is None or not self._lock.acquire(blocking=False):
            return
        try:
            self._send({"kind": "leave", "process": os.getpid()})
        except OSError:
            pass  # the other side has ended already
        finally:
            self._lock.release()

    def lose(self, error: Exception) -> None:
        """Note that a record could not even be told of."""
        line = f"- {type(error).__name__}: {' '.join(str(error).split())}\n"
        try:
            with open(self._capture.losses, "a", encoding="utf-8", errors="replace") as file:
                file.write(line)
        except OSError:
            pass  # nobody captures any more

    def _tell(self, told: Told, opening: str, message: Plain | None = None) -> None:
        """Tell what there is to tell, once more from the start if the listener has changed."""
        with self._lock:
            while True:
                if told.number not in self._known:
                    if not self._say({"kind": opening, **told._asdict()}):
                        continue
                    self._known.add(told.number)
                if message is None or self._say(message):
                    return

    def _say(self, message: Plain) -> bool:
        """Say one thing to whoever listens; False if that is no longer whom we said the rest."""
        if self._local is None:
            try:
                self._send(message)
            except BaseException as error:  # noqa: BLE001  # none is forgotten
                self._recover(error)
                return False
            return True
        self._local.hear(message)
        return True

    def _send(self, message: Plain) -> None:
        connection = self._connected()
        body = encode(message)
        connection.sendall(len(body).to_bytes(4, "big") + body)

    def _connected(self) -> socket:
        connection = self._socket
        if connection is None:
            return self._connect()
        if not self._is_ours(connection):
            raise _ClosedError("the program closed our descriptor")
        return connection

    def _connect(self) -> socket:
        """Connect, and tell first what may have been lost with an earlier connection."""
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.settimeout(WAIT_S)
        self._inode = os.fstat(connection.fileno()).st_ino
        self._socket = connection  # let go by `_recover` if the rest fails
        connection.connect(self._capture.socket)
        self._send(_hello())
        for told, answer in self._unconfirmed:
            self._send({"kind": "ask", **told._asdict()})
            self._send(_answered(told, answer))
            self._known.add(told.number)
        return connection

    def _recover(self, error: BaseException) -> None:
        """After an error, which may have left half a frame on its way, begin anew: alone if the
        other side is gone. Raises what is none of ours, such as an error of a signal's handler."""
        self._let_go()
        self._known.clear()
        pass_on(error)
        if not isinstance(error, OSError):
            raise error
        if not isinstance(error, _ClosedError):
            self._go_on_alone()

    def _let_go(self) -> None:
        """Close the socket, unless the program did: its number may be one of the program's own."""
        connection, self._socket = self._socket, None
        if connection is None:
            return
        if self._is_ours(connection):
            connection.close()
        else:
            connection.detach()

    def _is_ours(self, connection: socket) -> bool:
        try:
            return os.fstat(connection.fileno()).st_ino == self._inode
        except OSError:
            return False

    def _go_on_alone(self) -> None:
        """Write the corpus from here, and first what the other side may not have written."""
        module = importlib.import_module("replay.capture.listener")
        self._local = module.alone(self._capture)
        self._local.hear(_hello())
        for told, answer in self._unconfirmed:
            self._local.hear({"kind": "ask", **told._asdict()})
            self._local.hear(_answered(told, answer))
            self._known.add(told.number)
        self._unconfirmed.clear()


def _answered(told: Told, answer: Plain) -> Plain:
    return {"kind": "answer", "number": told.number, "answer": answer}


def _hello() -> Plain:
    """What the records of this process have in common."""
    return {
        "kind": "hello",
        "compiler": os.path.dirname(os.path.abspath(compiler.__file__ or "")),
        "path": [os.path.abspath(path) for path in sys.path],
        "python": sys.version.partition(" ")[0],
        "machine": os.uname().machine,
    }
