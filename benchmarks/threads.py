"""What two threads gain: `python -m benchmarks.threads` prints ratios as JSON.

The kernels of a case over buffers of their own, in turns: on one thread, cut in two parts that run
side by side, and so on. Wall clock is what counts where nothing else runs. On a busy machine there
is no second core to have; then the CPU time of the longer part says whether the work was shared,
memory and caches included, as both parts run at once wherever the machine lets them.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import CASES as PROGRAMS
from compiler import CompileFinished, Tensor, observing, open_device
from compiler.backends import size_value

CASES = (
    "matmul 1024",
    "matmul 2048",
    "conv 3x3 64 to 64 of 56x56",
    "conv 3x3 256 to 256 of 14x14",
    "softmax 4096 rows of 1024",
    "layernorm 4096 rows of 1024",
)
ROUNDS = 25


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of one call, wall clock and the CPU time of its longest part."""

    wall: float
    cpu: float


def main() -> None:
    """For each case, one thread's time over that of two: wall clock, and CPU time."""
    found: dict[str, float] = {}
    for name in CASES:
        pairs = [measure(calls) for calls in launches(name)]
        for what in ("wall", "cpu"):
            one = sum([getattr(pair[0], what) for pair in pairs])
            two = sum([getattr(pair[1], what) for pair in pairs])
            found[f"{name}, {what}"] = one / two
    print(json.dumps(found))


def measure(calls: Sequence[Callable[[], Spent]]) -> tuple[Spent, ...]:
    """The least of each call, in turns."""
    rounds = [[call() for call in calls] for _ in range(ROUNDS)]
    columns = list(zip(*rounds, strict=True))
    return tuple([Spent(min(s.wall for s in c), min(s.cpu for s in c)) for c in columns])


def launches(name: str) -> list[tuple[Callable[[], Spent], Callable[[], Spent]]]:
    """Each kernel of a case, on one thread and on two."""
    case, finished = PROGRAMS[name], list[CompileFinished]()
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(shape, dtype=np.float32) for shape in case.shapes]
    with observing(lambda e: finished.append(e) if isinstance(e, CompileFinished) else None):
        case.ours(*[Tensor(array) for array in arrays]).numpy()
    device = open_device("llvm")
    found: list[tuple[Callable[[], Spent], Callable[[], Spent]]] = []
    for event in finished:
        program = event.compiled.program
        buffers: list[Any] = [
            device.allocate(each.dtype, size_value(each.size, {})) for each in program.arguments
        ]
        for buffer in buffers:
            device.upload(buffer, generator.standard_normal(buffer.size).astype(np.float32))
        executable: Any = device.build(program)  # the host's, whose function takes a range
        call = partial(executable.function, *[buffer.address for buffer in buffers])
        cuts = [0, executable.count // 2, executable.count]
        found.append((partial(_run, call, cuts[::2], buffers), partial(_run, call, cuts, buffers)))
    return found


def _run(call: Callable[[int, int], None], cuts: Sequence[int], _held: object) -> Spent:
    """The ranges between the cuts, each on a thread of its own."""
    spent = [0.0] * (len(cuts) - 1)

    def part(number: int) -> None:
        started = time.thread_time()
        call(cuts[number], cuts[number + 1])
        spent[number] = time.thread_time() - started

    others = [threading.Thread(target=part, args=(i,)) for i in range(1, len(spent))]
    started = time.perf_counter()
    for thread in others:
        thread.start()
    part(0)
    for thread in others:
        thread.join()
    return Spent(time.perf_counter() - started, max(spent))


if __name__ == "__main__":
    main()
