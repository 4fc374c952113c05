"""What holds a worker: a memory limit, no core files, no network, no writes outside its directory.

Landlock is used where the kernel has it; the caller is told what holds, so that reports can tell.
"""

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterator

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_ABI_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # remove dir/file, make char .. sym
_TCP = 0b11  # bind and connect
_DEVICES = ("/dev/null", "/dev/zero", "/dev/shm", "/dev/dri", "/dev/kfd", "/dev/nvidiactl")


def enter(work_dir: str | None, memory_bytes: int | None) -> tuple[str, ...]:
    """Limit this process for good. Returns the names of what holds it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held: list[str] = []
    if memory_bytes is not None and hasattr(resource, "RLIMIT_DATA"):
        # not RLIMIT_AS: OpenCL runtimes and LLVM reserve address space that they never touch
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        held.append("memory")
    if work_dir is not None and sys.platform == "linux":
        held.extend(_landlock((work_dir, *_DEVICES)))
    return tuple(held)


def peak_bytes() -> int:
    """The most memory that this process has held; the system counts in kibibytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def data_bytes() -> int:
    """What counts towards the memory limit now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def landlock_version() -> int:
    """The kernel's Landlock version, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _ABI_VERSION_FLAG)))


def _landlock(writable: tuple[str, ...]) -> Iterator[str]:
    version = landlock_version()
    if version == 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    writes = _WRITE_FILE | _REMOVE_AND_MAKE
    writes |= _REFER if version >= 2 else 0
    writes |= _TRUNCATE if version >= 3 else 0
    network = _TCP if version >= 4 else 0
    attributes = struct.pack("=QQ", writes, network)[: 16 if version >= 4 else 8]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return
    for path in writable:
        _allow(libc, ruleset, path, writes)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restricted = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    if restricted:
        yield "files"
        if network:
            yield "network"


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a device that this machine does not have
    if not os.path.isdir(path):
        rights &= _WRITE_FILE | _TRUNCATE
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    os.close(descriptor)
