"""What the figures were measured on and with."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from compiler import open_device


def describe() -> str:
    """Two lines for the head of the table: machine and load, then toolchain."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    busy = f"LOADED: {load:.1f} runnable on {cores} cores" if load > 1 else f"idle, load {load:.1f}"
    toolchain = open_device("llvm").toolchain()
    return (
        f"{now} · {_cpu()} · {cores} cores · {busy}\n"
        f"Python {platform.python_version()} · NumPy {version('numpy')} · "
        f"llvmlite {version('llvmlite')} · LLVM {toolchain['llvm']} for {toolchain['cpu']}\n"
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
