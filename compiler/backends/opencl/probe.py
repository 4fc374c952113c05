"""Which OpenCL devices really run kernels: found in a child process, for a broken one kills it.

A platform that can be listed may still be unable to build (a PoCL older than the CPU is), and
listing devices already starts threads that a fork would lose. So nothing is asked of OpenCL in the
process that wants to know.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from compiler.errors import DeviceError

TIMEOUT_S = 120
_CHILD = Path(__file__).with_name("devices.py")


@dataclass(frozen=True, slots=True)
class DeviceId:
    """One device by names and versions; `position` among all devices tells twins apart."""

    position: int
    platform: str
    platform_version: str
    device: str
    driver: str

    def __str__(self) -> str:
        return f"{self.device} ({self.platform}, {self.platform_version}, driver {self.driver})"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device, and why it does not work; None if it does."""

    id: DeviceId
    why_not: str | None


@cache
def working_device() -> DeviceId:
    """The first device that builds and runs a kernel; asked once per process."""
    candidates = _candidates(stop_at_first=True)
    if candidates and candidates[-1].why_not is None:
        return candidates[-1].id
    tried = "; ".join(f"{candidate.id}: {candidate.why_not}" for candidate in candidates)
    raise DeviceError(
        f"opencl: no device works ({tried or 'there is none'}), install pocl-opencl-icd"
    )


def list_devices() -> tuple[Candidate, ...]:
    """Every OpenCL device of the machine, with the reason where one does not work."""
    return _candidates(stop_at_first=False)


@dataclass(frozen=True, slots=True)
class _Report:
    """What one child said: all devices, and why those it tried do not work."""

    devices: tuple[DeviceId, ...]
    reasons: Mapping[int, str | None]
    is_complete: bool


def _candidates(*, stop_at_first: bool) -> tuple[Candidate, ...]:
    reasons: dict[int, str | None] = {}
    while True:  # a child that dies has tried one device more
        report = _ask_child(len(reasons), "first" if stop_at_first else "all")
        reasons.update(report.reasons)
        if report.is_complete:
            return tuple([Candidate(report.devices[i], why) for i, why in reasons.items()])


def _ask_child(start: int, mode: str) -> _Report:
    # -P: the child must not find our render.py and ops.py as top-level modules
    command = [sys.executable, "-P", str(_CHILD), str(start), mode]
    try:
        child = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
        output, code, said = child.stdout, child.returncode, child.stderr
    except subprocess.TimeoutExpired as error:
        output, code, said = (error.stdout or b"").decode(), None, ""
    return _report(output, code, said)


def _report(output: str, code: int | None, said: str) -> _Report:
    devices: tuple[DeviceId, ...] = ()
    reasons: dict[int, str | None] = {}
    trying: int | None = None
    for line in output.splitlines():
        fields: dict[str, Any] = json.loads(line)
        if "devices" in fields:
            devices = tuple([DeviceId(i, **names) for i, names in enumerate(fields["devices"])])
        elif "trying" in fields:
            trying = fields["trying"]
        else:
            reasons[fields["tried"]] = fields["why"]
            trying = None
    if code != 0 and trying is None:
        last = (said.strip().splitlines() or ["no message"])[-1]
        raise DeviceError(f"opencl: the devices cannot be listed: {_ending(code)}: {last}")
    if trying is not None:
        reasons[trying] = _ending(code)
    return _Report(devices, reasons, code == 0)


def _ending(code: int | None) -> str:
    if code is None:
        return f"hangs: no answer in {TIMEOUT_S} s"
    if code < 0:
        return f"kills its process ({signal.Signals(-code).name})"
    return f"ends its process with code {code}"
