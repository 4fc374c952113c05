"""Measurements run in fresh processes: nothing is warm that would not be for a user."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TUNING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # would slow the peer down
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def environment() -> dict[str, str]:
    """This process's, with NumPy's BLAS at its best on one thread and this checkout importable.

    Byte code is kept, as where a package is installed: compiling it is no part of any command.
    """
    dropped = (*_TUNING, "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environ.get("PYTHONPATH"))))
    return environ


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command and its children took."""

    wall_s: float
    cpu_s: float


def run(command: Sequence[str]) -> Spent:
    """Run `command` to its end. Raises with its output if it fails."""
    before, started = _cpu_of_children(), time.perf_counter()
    done = subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False
    )
    spent = Spent(time.perf_counter() - started, _cpu_of_children() - before)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return spent


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(module: str, *arguments: str, python: str = sys.executable) -> Mapping[str, float]:
    """What `python -m benchmarks.MODULE` printed: a JSON object of numbers."""
    command = [python, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(
        command, env=environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


def stay_on_one_core() -> None:
    """Pin this process, so that kernels run on one thread like the NumPy beside them."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
