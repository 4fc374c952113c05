"""What works on this machine; each backend is tried in a worker, as trying may kill."""

import importlib
import shutil
from collections.abc import Iterator, Mapping

import msgspec

from replay.isolation.sandbox import landlock_version
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Crew, Died, Job, Limits, TimedOut, run_jobs

TOOLS: tuple[tuple[str, str], ...] = (
    ("git", "compare with other revisions and bisect: apt install git"),
    ("llvm-mca", "estimated cycles of machine code: apt install llvm"),
    ("oclgrind", "memory checks of OpenCL kernels: apt install oclgrind"),
)
_IMAGES = "images"  # what a device says of them in its toolchain
_LIMITS = Limits(time_s=120.0)


class Finding(msgspec.Struct, frozen=True):
    """One thing that works, or does not; `detail` says which version, or what would help."""

    name: str
    works: bool
    detail: str


def probe(payload: bytes) -> bytes:
    """Open the device of the backend that `payload` names, in a worker; give its toolchain."""
    backends = importlib.import_module("compiler.backends")
    toolchain: Mapping[str, str] = backends.open_device(payload.decode()).toolchain()
    return msgspec.json.encode(dict(toolchain))


def findings(environ: Mapping[str, str], backends: tuple[str, ...]) -> list[Finding]:
    """All that is worth saying, in order of importance."""
    return [*_devices(environ, backends), *_tools(), _sandbox()]


def _devices(environ: Mapping[str, str], names: tuple[str, ...]) -> list[Finding]:
    crew = Crew(environ=environ, size=len(names), limits=_LIMITS)
    jobs = [Job(name, Call("replay.probe:probe", name.encode())) for name in names]
    replies = {job.tag: reply for job, reply in run_jobs(jobs, crew)}
    return [finding for name in names for finding in _findings_of(name, replies[name])]


def _findings_of(name: str, reply: object) -> Iterator[Finding]:
    """What one device says of itself; its images are a line of their own."""
    if not isinstance(reply, Done):
        yield _failure(name, reply)
        return
    versions = msgspec.json.decode(reply.payload, type=dict[str, str])
    images = versions.pop(_IMAGES, None)
    text = ", ".join(f"{key} {value}" for key, value in sorted(versions.items()))
    yield Finding(f"backend {name}", works=True, detail=text)
    if images is not None:
        none = "kernels with images are compiled here, and not run"
        yield Finding(f"{_IMAGES} of {name}", works=bool(images), detail=images or none)


def _failure(name: str, reply: object) -> Finding:
    match reply:
        case Raised(error=error):
            return Finding(f"backend {name}", works=False, detail=error)
        case Died(reason=reason) | OutOfMemory(reason=reason):
            return Finding(f"backend {name}", works=False, detail=f"opening it ends in {reason}")
        case TimedOut(seconds=seconds):
            detail = f"no answer within {seconds:g} s"
            return Finding(f"backend {name}", works=False, detail=detail)
    raise AssertionError(reply)


def _tools() -> list[Finding]:
    found: list[Finding] = []
    for name, use in TOOLS:
        path = shutil.which(name)
        found.append(Finding(name, works=path is not None, detail=path or f"for {use}"))
    return found


def _sandbox() -> Finding:
    version = landlock_version()
    text = f"Landlock {version}" if version else "this kernel has no Landlock: limits only"
    return Finding("sandbox", works=version > 0, detail=text)
