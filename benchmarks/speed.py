"""Running kernels on one core beside NumPy: `python -m benchmarks.speed` prints rates as JSON.

Ours and the peer take turns, and the fastest call of each counts, in CPU time: on one thread that
is the wall clock of a machine with nothing else to do.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before NumPy's BLAS and our runtime count the cores

import numpy as np  # noqa: E402  # see the line above

from compiler import CompileFinished, Tensor, observing, open_device  # noqa: E402  # after the environment is set
from compiler.backends import size_value  # noqa: E402  # likewise

ROUNDS = 15
ELEMENTS = 1 << 24  # 64 MiB of float32: an array is larger than the caches
ALIGNMENT = 64
BLOCK = 1 << 16  # of the triad: its intermediate stays in the second-level cache

Call = Callable[[], object]


def main() -> None:
    """GFLOPS of matmuls, GB/s of streams."""
    print(json.dumps({**matmuls(512), **matmuls(1024), **streams()}))


def matmuls(n: int) -> dict[str, float]:
    """GFLOPS of float32 n x n @ n x n, ours and NumPy's."""
    a, b = _random(n, n), _random(n, n)
    out = _empty(*a.shape)
    ours, peer = _alternate(kernel(lambda x, y: x @ y, a, b), lambda: np.matmul(a, b, out))
    return {f"matmul{n}": 2e-9 * n**3 / ours, f"numpy{n}": 2e-9 * n**3 / peer}


def streams() -> dict[str, float]:
    """GB/s that the program asks for: a + b moves three arrays, the sum of rows one."""
    a, b = _random(ELEMENTS), _random(ELEMENTS)
    out, rows = _empty(*a.shape), a.reshape(4096, -1)
    add, numpy_add = _alternate(kernel(lambda x, y: x + y, a, b), lambda: np.add(a, b, out=out))
    row_sum, triad = _alternate(kernel(lambda x: x.sum(axis=1), rows), _triad(out, a, b))
    size = a.nbytes * 1e-9
    peer = 3 * size / min(numpy_add, triad)  # which is faster depends on the machine
    return {"numpy": peer, "add": 3 * size / add, "row_sum": size / row_sum}


def kernel(function: Callable[..., Any], *arrays: Any) -> Call:  # noqa: ANN401  # an array of either package
    """The one kernel of `function(*tensors)`, over buffers of its own; checked by its result."""
    finished: list[CompileFinished] = []
    with observing(lambda e: finished.append(e) if isinstance(e, CompileFinished) else None):
        wanted = function(*[Tensor(array) for array in arrays]).numpy()
    (event,) = finished
    program, device = event.compiled.program, open_device("llvm")
    buffers = [device.allocate(each.dtype, size_value(each.size, {})) for each in program.arguments]
    for buffer, array in zip(buffers[1:], arrays, strict=True):
        device.upload(buffer, array)
    executable = device.build(program)
    executable(buffers, {})
    if not np.array_equal(device.download(buffers[0]).reshape(wanted.shape), wanted):
        raise RuntimeError(f"{program.name}: the benchmark does not run what the tensors ran")
    return lambda: executable(buffers, {})


def _triad(a: Any, b: Any, c: Any) -> Call:  # noqa: ANN401  # an array of either package
    """a = b + 3 * c block by block."""
    scaled = np.empty(BLOCK, b.dtype)

    def run() -> None:
        for start in range(0, a.size, BLOCK):
            part = slice(start, start + BLOCK)
            np.multiply(c[part], np.float32(3), out=scaled)
            np.add(b[part], scaled, out=a[part])

    return run


def _alternate(ours: Call, peer: Call) -> tuple[float, float]:
    """The least seconds of a call, each."""
    times = [(_seconds(ours), _seconds(peer)) for _ in range(ROUNDS)]
    return min(first for first, _ in times), min(second for _, second in times)


def _seconds(call: Call) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _random(*shape: int) -> Any:  # noqa: ANN401  # an array of either package
    array = _empty(*shape)
    array[...] = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return array


def _empty(*shape: int) -> Any:  # noqa: ANN401  # an array of either package
    """Aligned to a cache line like our buffers: NumPy's own arrays are not, and half as fast."""
    size = 4 * math.prod(shape)
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(np.float32).reshape(shape)


if __name__ == "__main__":
    main()
