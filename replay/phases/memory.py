"""`--check memory`: OpenCL kernels run inside Oclgrind, which sees every byte that they touch.

What it complains of makes the numbers of a record `wrong`, whatever they are: reads and writes out
of bounds, values that nobody has written, races, barriers that not all work items reach.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from corpus import Stored
from replay.capture.records import KIND
from replay.errors import ReplayError
from replay.isolation.wire import Done
from replay.isolation.workers import Crew, Job, Reply, TimedOut
from replay.numerics import simulating
from replay.outcome import CHANGED, Numerics, Outcome, Result
from replay.phases.judge import with_numerics
from replay.phases.plan import Plan, Progress, Replayed, Source
from replay.scratch import scratch_directory

_DRIVER = "liboclgrind-rt-icd.so"
_LIBRARIES = ("lib/oclgrind", "lib", "lib64", "lib/x86_64-linux-gnu/oclgrind")
# Oclgrind 21.10 dies of an element taken out of a vector while it tracks what has been written.
_TAKES_APART = re.compile(r"\.s[0-9a-f]\b")
_ANSWERED = (*CHANGED, Outcome.FIXED, Outcome.SAME)


def find_driver(environ: Mapping[str, str]) -> Path:
    """The simulator as an OpenCL driver. ReplayError in one line where it is not installed."""
    tool = shutil.which("oclgrind", path=environ.get("PATH", ""))
    roots = [Path(tool).resolve().parent.parent] if tool else []
    for place in (root / name / _DRIVER for root in roots for name in _LIBRARIES):
        if place.is_file():
            return place
    raise ReplayError("--check memory: Oclgrind is not installed; apt install oclgrind")


def check_memory(source: Source, plan: Plan, found: Replayed, progress: Progress) -> None:
    """Run every OpenCL kernel that has an answer inside the simulator, twice if it dies of it."""
    assert plan.memory_driver is not None
    wanted = [key for key in found.keys_with(_ANSWERED) if _is_opencl(found.results[key])]
    check = _Check(source, plan, found)
    with scratch_directory("oclgrind") as directory:
        (directory / "oclgrind.icd").write_text(f"{plan.memory_driver}\n")
        strict = _crew(plan.crew, directory, {"OCLGRIND_UNINITIALIZED": "1"})
        for job, reply in plan.run_jobs(check.jobs(wanted), strict):
            check.note(job.tag, reply, is_last=False)
            progress("checking memory", check.done, len(wanted))
        for job, reply in plan.run_jobs(check.jobs(list(check.left)), _crew(plan.crew, directory)):
            check.note(job.tag, reply, is_last=True)
            progress("checking memory", check.done, len(wanted))
    found.notes += check.notes()


class _Check:
    """What has been checked, and what not. Owned by one call of `check_memory`."""

    def __init__(self, source: Source, plan: Plan, found: Replayed) -> None:
        self._source = source
        self._found = found
        self._skipped: Counter[str] = Counter()
        self.done = 0
        self.left: dict[str, None] = {}  # keys for which values nobody wrote cannot be looked for

    def jobs(self, keys: list[str]) -> Iterator[Job[Stored]]:
        for stored in self._source.stored(keys):
            new = self._found.results[stored.key].new
            source = stored.record.source if new is None else new.source
            if stored.record.kind != KIND:
                self._skip(f"they are of kind {stored.record.kind!r}")
            elif _TAKES_APART.search(source or "") and stored.key not in self.left:
                self.left[stored.key] = None
            else:
                opts = stored.record.applied if new is None else new.applied
                yield Job(stored, simulating.call(stored.record, opts))

    def note(self, stored: Stored, reply: Reply, *, is_last: bool) -> None:
        if isinstance(reply, TimedOut):
            self._skip(f"Oclgrind takes more than {reply.seconds:g} s")
            self.left.pop(stored.key, None)
            return
        if not isinstance(reply, Done) and not is_last:
            self.left[stored.key] = None
            return
        why_not = simulating.read(reply.payload).why_not if isinstance(reply, Done) else None
        if why_not is not None:
            self._skip(why_not)
            return
        self.done += 1
        self._found.add(_judged(self._found.results[stored.key], reply))

    def _skip(self, why: str) -> None:
        self._skipped[why] += 1
        self.done += 1

    def notes(self) -> list[str]:
        checked = self.done - sum(self._skipped.values())
        said = [f"memory of {checked} OpenCL kernels was checked by Oclgrind"]
        if self.left:
            said.append(
                f"{len(self.left)} of them not for values that nobody wrote: it would crash"
            )
        return said + [
            f"memory of {n} kernels was not checked: {why}" for why, n in self._skipped.items()
        ]


def _is_opencl(result: Result) -> bool:
    is_failure = (result.reason or "").startswith("fails as before")
    return result.target.startswith("opencl/") and not is_failure


def _crew(crew: Crew, vendors: Path, more: Mapping[str, str] | None = None) -> Crew:
    """Workers for which the simulator is the only driver; each has a log in its own directory."""
    environ = {
        **crew.environ,
        "OCL_ICD_VENDORS": str(vendors),
        "OCLGRIND_LOG": simulating.LOG,
        "OCLGRIND_DATA_RACES": "1",
        **(more or {}),
    }
    imports = (*crew.imports, "replay.numerics.oclgrind")
    return replace(crew, environ=environ, imports=imports)


def _judged(result: Result, reply: Reply) -> Result:
    if not isinstance(reply, Done):
        bad = with_numerics(result, reply)
        return msgspec.structs.replace(bad, numerics_reason=f"in Oclgrind: {bad.numerics_reason}")
    seen = simulating.read(reply.payload)
    if not seen.said:
        return result
    more = f" and {len(seen.said) - 1} more" if len(seen.said) > 1 else ""
    reason = f"memory: {seen.said[0]}{more}"
    log = "\n".join(seen.said)
    return msgspec.structs.replace(
        result, numerics=Numerics.WRONG, numerics_reason=reason, log=result.log or log
    )
