"""What the workers of the tests are asked to do."""

import contextlib
import ctypes
import os
import signal
import time


def echo(payload: bytes) -> bytes:
    return payload.upper()


def seed(payload: bytes) -> bytes:
    return os.environ["PYTHONHASHSEED"].encode()


def segfault(payload: bytes) -> bytes:
    ctypes.string_at(0)
    return payload


def abort(payload: bytes) -> bytes:
    os.write(2, b"LLVM ERROR: Cannot select: t42\n")
    os.abort()


def babble(payload: bytes) -> bytes:
    """Write to whatever pipe there is."""
    for descriptor in sorted(map(int, os.listdir("/proc/self/fd"))):
        if descriptor > 2:
            with contextlib.suppress(OSError):
                os.write(descriptor, b"\xff" * 100)
    return payload


def spin(payload: bytes) -> bytes:
    while True:
        time.sleep(0.01)


def work(payload: bytes) -> bytes:
    """Tell who we are in the file of this name, then take a third of a second of a processor."""
    end_s = time.process_time() + 0.3
    with open(payload, "w") as file:
        file.write(f"{os.getpid()}\n")
    while time.process_time() < end_s:
        pass
    return b"done"


def fill(payload: bytes) -> bytes:
    return bytes(8 << 30)


def fill_slowly(payload: bytes) -> bytes:
    """Each call leaves a line in the file of this name."""
    with open(payload, "a") as file:
        file.write("called\n")
    held = []
    while True:
        held.append(bytes(1 << 24))  # counted, and not touched


def refuse_memory(payload: bytes) -> bytes:
    raise MemoryError


def fill_and_abort(payload: bytes) -> bytes:
    try:
        fill(payload)
    except MemoryError:
        os.write(2, b"LLVM ERROR: out of memory\n")
        os.abort()
    return payload


def raise_error(payload: bytes) -> bytes:
    raise KeyError("axis")


def leave_a_trap(payload: bytes) -> bytes:
    """The next job of the same worker dies."""
    signal.signal(signal.SIGALRM, lambda *_: os.abort())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return payload


def slow_echo(payload: bytes) -> bytes:
    time.sleep(0.2)
    return payload


def write_outside(payload: bytes) -> bytes:
    with open(payload, "wb") as file:
        file.write(b"escaped")
    return payload


def process_id(payload: bytes) -> bytes:
    with open(payload, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
    return b""


def who(payload: bytes) -> bytes:
    return b"%d" % os.getpid()


def be_killed(payload: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return payload


def be_killed_once(path: bytes) -> bytes:
    if not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT))
        be_killed(path)
    return b"alive"


def work_in_a_crowd(payload: bytes) -> bytes:
    """Take 0.3 s of CPU on a core that three others want as well."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    others = [os.fork() for _ in range(3)]
    begin = time.process_time()
    while 0 in others or time.process_time() - begin < 0.3:
        pass
    for other in others:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    return b"done"
