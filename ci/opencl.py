"""See to an OpenCL device that really runs kernels, where that can be done without asking anyone.

A platform that can be listed may still be unable to build (a PoCL older than the CPU is), and a broken one may kill
its process. So each device builds and runs a kernel in a child process of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STAMP = Path(sys.prefix) / "opencl-device"  # names the device that worked the last time
NO_SUCH_DEVICE = 3

# Runs in the child: `argv[1]` is the device's position among all devices of all platforms.
PROBE = """
import sys, numpy, pyopencl as cl
try:
    platforms = cl.get_platforms()
except cl.LogicError:
    platforms = []
devices = [device for platform in platforms for device in platform.get_devices()]
if int(sys.argv[1]) >= len(devices):
    sys.exit({no_such_device})
device = devices[int(sys.argv[1])]
context = cl.Context([device])
queue = cl.CommandQueue(context)
source = "kernel void twice(global float *a) {{ a[get_global_id(0)] *= 2.0f; }}"
program = cl.Program(context, source).build(cache_dir=False)
numbers = numpy.arange(8, dtype=numpy.float32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
program.twice(queue, numbers.shape, None, buffer)
result = numpy.empty_like(numbers)
cl.enqueue_copy(queue, result, buffer).wait()
assert (result == 2 * numbers).all(), "wrong result"
print(f"{{device.platform.name.strip()}}: {{device.name.strip()}}, {{device.version.strip()}}")
""".format(no_such_device=NO_SUCH_DEVICE)


def working_device() -> str | None:
    """The name of the first device that builds and runs a kernel."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"POCL_CACHE_DIR": cache}
        for position in range(64):
            command = [sys.executable, "-c", PROBE, str(position)]
            try:
                child = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=120, check=False
                )
            except subprocess.TimeoutExpired:
                continue
            if child.returncode == 0:
                return child.stdout.strip().splitlines()[-1]
            if child.returncode == NO_SUCH_DEVICE:
                break
    return None


def why_not_installable() -> str | None:
    if shutil.which("apt-get") is None:
        return "this machine has no apt-get"
    if os.geteuid() != 0:
        return "not root; `apt-get install pocl-opencl-icd` would do"
    return None


def install_pocl() -> str | None:
    """Install Debian's PoCL; returns what went wrong."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "pocl-opencl-icd"]):
        command = ["apt-get", "--quiet", "--quiet", *arguments]
        child = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        # A failed update may only mean one dead source: the install that follows decides.
        if child.returncode != 0 and arguments[0] == "install":
            return f"apt-get install pocl-opencl-icd failed: {child.stderr.strip().splitlines()[-1:]}"
    return None


def main() -> None:
    if STAMP.exists():
        return
    device = working_device()
    reason = None
    if device is None:
        reason = why_not_installable()
        if reason is None:
            print("setup: no working OpenCL device, installing pocl-opencl-icd", flush=True)
            reason = install_pocl()
            device = working_device()
    if device is None:
        reason = reason or "pocl-opencl-icd is installed and cannot run a kernel"
        print(f"setup: going on with LLVM alone, OpenCL is missing ({reason})")
        return
    print(f"setup: OpenCL works ({device})")
    STAMP.write_text(device + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
