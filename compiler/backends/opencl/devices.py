"""The OpenCL devices of this machine: list, describe, try.

Also a program, run by probe.py in a child process: prints one line of JSON per device, then tries
them from the position given, and says so before each, so that its death names the culprit.
"""

import atexit
import json
import os
import shutil
import sys
import tempfile

import numpy as np
import pyopencl as cl
from pyopencl._cl import _Program  # cl.Program caches on disk what it then unpickles

SOURCE = """
__kernel void swap(__global float *restrict a) {
  __local float shared[4];
  int i = get_local_id(0);
  shared[i] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = shared[i ^ 1] * 2.0f;
}
"""


def quiet_caches() -> None:
    """Keep pyopencl and PoCL off caches in the home directory; comes before any use of OpenCL.

    pyopencl's holds pickles. PoCL's gives spurious build failures when processes share it cold,
    and without a writable home there is no device at all. PoCL takes its settings from the
    environment alone: they are written here, never read.
    """
    cl._PYOPENCL_NO_CACHE = True  # noqa: SLF001  # its variable is only read at the first import
    private = tempfile.mkdtemp(prefix="kernel-replay-pocl-")
    os.putenv("POCL_KERNEL_CACHE", "0")
    os.putenv("POCL_CACHE_DIR", private)
    atexit.register(_remove, private, os.getpid())


def _remove(directory: str, process: int) -> None:
    if process == os.getpid():  # a forked child leaves it to its parent
        shutil.rmtree(directory, ignore_errors=True)


def all_devices() -> list[cl.Device]:
    """Every device of every platform; the loader's own order is that of a directory."""
    try:
        platforms = cl.get_platforms()
    except cl.LogicError:  # there is no platform
        return []
    found = [device for platform in platforms for device in _devices_of(platform)]
    return sorted(found, key=_preference)


def _preference(device: cl.Device) -> tuple[bool, list[str]]:
    """Simulators last, else by name."""
    return "oclgrind" in device.platform.name.lower(), list(describe(device).values())


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    try:
        return list(platform.get_devices())
    except cl.Error:  # a platform without devices
        return []


def describe(device: cl.Device) -> dict[str, str]:
    """The names and versions that tell a device from others."""
    return {
        "platform": device.platform.name.strip(),
        "platform_version": device.platform.version.strip(),
        "device": device.name.strip(),
        "driver": device.driver_version.strip(),
    }


def why_broken(device: cl.Device) -> str | None:
    """Build and run a kernel with local memory and a barrier; None if it works."""
    try:
        context = cl.Context([device])
        queue = cl.CommandQueue(context)
        program = _Program(context, SOURCE)
        program._build(options=b"-cl-std=CL1.2")  # noqa: SLF001  # see its import
        numbers = np.arange(8, dtype=np.float32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffer = cl.Buffer(context, flags, hostbuf=numbers)
        kernel = cl.Kernel(program, "swap")
        kernel.set_arg(0, buffer)
        cl.enqueue_nd_range_kernel(queue, kernel, numbers.shape, (4,))
        result = np.empty_like(numbers)
        cl.enqueue_copy(queue, result, buffer)
    except cl.Error as error:
        return " ".join(str(error).split())[:300]
    expected = 2 * numbers.reshape(-1, 2)[:, ::-1].reshape(-1)
    return None if (result == expected).all() else f"computes {result.tolist()}"


def main(start: int, *, stop_at_first: bool) -> None:
    quiet_caches()
    devices = all_devices()
    _say(devices=[describe(device) for device in devices])
    for position in range(start, len(devices)):
        _say(trying=position)
        why = why_broken(devices[position])
        _say(tried=position, why=why)
        if why is None and stop_at_first:
            return


def _say(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), stop_at_first=sys.argv[2] == "first")
