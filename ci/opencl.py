"""See to an OpenCL device that really runs kernels, where that needs nobody's answer.

Usage: opencl.py FILE. Writes the name of the working device to FILE; no file means there is none.
A platform that can be listed may still be unable to build (a PoCL older than the CPU is), and a
broken one may kill its process. So each device runs a kernel in a child process of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NO_SUCH_DEVICE = 3

# What the child runs: `argv[1]` is the position of one device among all devices of all platforms.
PROBE = f"""
import sys, numpy, pyopencl as cl
try:
    platforms = cl.get_platforms()
except cl.LogicError:
    platforms = []
devices = [device for platform in platforms for device in platform.get_devices()]
if int(sys.argv[1]) >= len(devices):
    sys.exit({NO_SUCH_DEVICE})
device = devices[int(sys.argv[1])]
context = cl.Context([device])
queue = cl.CommandQueue(context)
source = "kernel void twice(global float *a) {{ a[get_global_id(0)] *= 2.0f; }}"
program = cl.Program(context, source).build(cache_dir=False)
numbers = numpy.arange(8, dtype=numpy.float32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
program.twice(queue, numbers.shape, None, buffer)
result = numpy.empty_like(numbers)
cl.enqueue_copy(queue, result, buffer)
assert (result == 2 * numbers).all(), result
print(device.platform.name, device.driver_version, device.name, sep=", ")
"""

APT_GET = [
    "apt-get",
    "--quiet=2",
    "--option=DPkg::Lock::Timeout=60",
    "--option=Acquire::Retries=1",
    "--option=Acquire::http::Timeout=20",
]


def working_device() -> str | None:
    """The name of the first device that builds and runs a kernel."""
    for position in range(64):
        with tempfile.TemporaryDirectory() as cache:  # a shared cold PoCL cache fails builds
            environment = os.environ | {"POCL_CACHE_DIR": cache}
            child = _run([sys.executable, "-c", PROBE, str(position)], environment, timeout_s=120)
        if child is None:
            continue
        if child.returncode == NO_SUCH_DEVICE:
            break
        if child.returncode == 0:
            return child.stdout.strip().splitlines()[-1]
    return None


def install_pocl() -> str | None:
    """Install Debian's PoCL, or say why not. Never asks."""
    if shutil.which("apt-get") is None:
        return "there is no apt-get to install pocl-opencl-icd with"
    if os.geteuid() != 0:
        return "apt-get install pocl-opencl-icd would do, but needs root"
    print("setup: no working OpenCL device, installing pocl-opencl-icd", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # A failed update may only mean one dead source: the install after it decides.
    _run([*APT_GET, "update"], environment, timeout_s=300)
    install = [*APT_GET, "install", "--yes", "--no-install-recommends", "pocl-opencl-icd"]
    child = _run(install, environment, timeout_s=600)
    if child is None:
        return "apt-get install pocl-opencl-icd took over 600 s"
    if child.returncode != 0:
        why = (child.stderr.strip().splitlines() or ["no message"])[-1]
        return f"apt-get install pocl-opencl-icd failed: {why}"
    return None


def _run(
    command: list[str], environment: dict[str, str], timeout_s: int
) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            command,
            env=environment,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def main(found: Path) -> None:
    reason = None
    device = working_device()
    if device is None:
        reason = install_pocl()
        if reason is None:
            reason = "pocl-opencl-icd is installed, but runs no kernel"
            device = working_device()
    if device is None:
        print(f"setup: going on with LLVM alone, no OpenCL device works: {reason}")
        return
    print(f"setup: OpenCL works: {device}")
    found.write_text(device + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
