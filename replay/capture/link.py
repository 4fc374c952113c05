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


class Link:
    """Tells one capture of compiles; threads share it. Nobody else uses its socket."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self.after_fork()

    def after_fork(self) -> None:
        """Begin anew: what the parent process holds is not this one's to use."""
        self._lock = threading.RLock()  # held while something is told
        self._socket: socket | None = None
        self._inode = 0
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
                    count = len(self._own_socket().recv(len(self._unconfirmed)))
                    if not count:
                        raise ConnectionError("the other side has gone")
                    del self._unconfirmed[:count]
                except OSError:
                    self._go_on_alone()
                except BaseException:  # a signal's handler raised: who knows what was read
                    self._go_on_alone()
                    raise

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
            except OSError:
                self._go_on_alone()
                return False
            except BaseException:  # a signal's handler raised: half a frame may have been sent
                self._go_on_alone()
                raise
            return True
        self._local.hear(message)
        return True

    def _send(self, message: Plain) -> None:
        if self._socket is None:
            self._connect()
        connection = self._own_socket()
        body = encode(message)
        connection.sendall(len(body).to_bytes(4, "big") + body)

    def _own_socket(self) -> socket:
        connection = self._socket
        assert connection is not None
        if os.fstat(connection.fileno()).st_ino != self._inode:
            connection.detach()
            raise ConnectionError("the program closed our descriptor and uses its number")
        return connection

    def _connect(self) -> None:
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.settimeout(WAIT_S)
        self._socket = connection  # closed by `_go_on_alone` if this fails
        self._inode = os.fstat(connection.fileno()).st_ino
        connection.connect(self._capture.socket)
        self._send(_hello())

    def _go_on_alone(self) -> None:
        """Write the corpus from here, and first what the other side may not have written."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._known.clear()
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
