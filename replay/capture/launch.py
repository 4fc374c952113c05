"""Starts the program of a capture before anything of weight is imported.

The program and the rest of `replay capture` then begin side by side, and most of what a capture
costs happens while the program is busy with its own start. So this imports modules written in C:
`signal` and `contextlib` alone take as long as Python's own start.
"""

from __future__ import annotations

import errno
import os
from _socket import AF_UNIX, SOCK_STREAM, socket

from replay.capture.environment import Capture, with_capture
from replay.owner import PREFIX, hold

TYPE_CHECKING = False  # importing it would take longer than all of this
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from types import FrameType
else:
    import _signal as signal

_BACKLOG = 1024
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_OPTION = "--corpus"
_ARCHIVES = (".txt", ".krc")
_MAX_SOCKET_BYTES = 104  # of its path, on the systems that allow least


class Program:
    """A program that runs under capture, and the socket on which its processes will be heard."""

    __slots__ = ("capture", "command", "handlers", "is_behind", "owner", "pid", "server")

    def __init__(self, command: Sequence[str], corpus: str, environ: Mapping[str, str]) -> None:
        """Start it. OSError if that cannot be done."""
        self.command = tuple(command)
        self.pid = 0
        self.is_behind = False
        self.capture = Capture(_new_directory(environ), os.path.abspath(corpus))
        self.owner = hold(self.capture.directory)
        self.server = socket(AF_UNIX, SOCK_STREAM)
        self.handlers = {number: signal.signal(number, self._pass_on) for number in _PASSED_ON}
        self.handlers[signal.SIGINT] = signal.signal(signal.SIGINT, _leave_to_the_program)
        try:
            self.server.bind(self.capture.socket)
            self.server.listen(_BACKLOG)
            self.pid = os.posix_spawnp(
                self.command[0],
                self.command,
                with_capture(environ, self.capture),
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # Python ignores them, others do not
            )
        except OSError:
            self.discard()
            raise
        self.is_behind = _fall_behind()

    def wait(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0  # the number may be another's from now on
        self._catch_up()  # whoever waits for the program now waits for us
        return os.waitstatus_to_exitcode(status)

    def discard(self) -> None:
        """Leave nothing behind."""
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        self._catch_up()
        self.server.close()
        _remove(self.capture.directory)
        if self.owner is not None:
            os.close(self.owner)
            self.owner = None

    def _catch_up(self) -> None:
        if self.is_behind:
            os.sched_setscheduler(os.getpid(), os.SCHED_OTHER, os.sched_param(0))
            self.is_behind = False

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        """What would end us is for the program to decide."""
        if self.pid:
            os.kill(self.pid, number)


def launch(words: Sequence[str], environ: Mapping[str, str]) -> Program | None:
    """Start the program of `capture --corpus DIR [--] CMD ...`; None for any other spelling."""
    if words[:1] != ["capture"] or len(words) < 3:
        return None
    if words[1] == _OPTION:
        corpus, command = words[2], list(words[3:])
    elif words[1].startswith(_OPTION + "="):
        corpus, command = words[1].removeprefix(_OPTION + "="), list(words[2:])
    else:
        return None
    if command[:1] == ["--"]:
        del command[0]
    elif command and command[0].startswith("-"):
        return None
    if not command or not corpus or not may_be_directory(corpus):  # the command says why not
        return None
    try:
        return Program(command, corpus, environ)
    except OSError:
        return None  # the command tries again, and says what is wrong


def may_be_directory(corpus: str) -> bool:
    """Whether records can go there: not to a URL, a file, or the name of an archive."""
    if os.path.isdir(corpus):
        return True
    return ":" not in corpus and not corpus.endswith(_ARCHIVES) and not os.path.exists(corpus)


def _fall_behind() -> bool:
    """Take no core from whoever runs there: all that a program tells would wake us on its own, and
    keep it waiting, where the other cores are busy. Say whether that was granted.
    """
    main_thread = os.getpid()  # the others are started by it, and are as it is
    try:
        if os.sched_getscheduler(main_thread) != os.SCHED_OTHER:
            return False  # whoever started us knows better
        os.sched_setscheduler(main_thread, os.SCHED_BATCH, os.sched_param(0))
    except (AttributeError, OSError):
        return False  # other systems know no such thing, or do not allow it
    return True


def _leave_to_the_program(*_: object) -> None:
    """Ctrl-C is sent to it as well."""


def temporary_places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where temporary files go, in the order of preference."""
    return environ.get("TMPDIR", ""), "/tmp", "/var/tmp"


def _new_directory(environ: Mapping[str, str]) -> str:
    """Make a directory that is ours alone, where temporary files go and a path can be short."""
    name = f"{PREFIX}capture-{os.urandom(8).hex()}"
    for place in (*temporary_places(environ), os.getcwd()):
        directory = os.path.join(place, name)
        if place and len(os.fsencode(directory)) < _MAX_SOCKET_BYTES - len("/socket"):
            try:
                os.mkdir(directory, 0o700)
            except OSError:
                continue  # the next place may do
            return directory
    raise FileNotFoundError(errno.ENOENT, "no place for a socket; set TMPDIR to a short path")


def _remove(directory: str) -> None:
    try:
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)
    except OSError:
        return  # whoever took it away has done the work
