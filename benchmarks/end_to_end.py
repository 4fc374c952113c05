"""From arrays to an array, beside NumPy: `python -m benchmarks.end_to_end` prints seconds as JSON.

Each round makes new inputs, then times `Tensor(a) @ Tensor(b)` to `.numpy()`: copying, scheduling
and launching count, and no result is known before. NumPy computes the same from the same arrays in
the same round. One core, CPU time, fastest round of each.
"""

import json
import time
from typing import Any

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before NumPy's BLAS and our runtime count the cores

import numpy as np  # noqa: E402  # see the line above

from benchmarks.cases import CASES, Case  # noqa: E402  # see above
from compiler import Tensor  # noqa: E402  # see above

Arrays = tuple[Any, ...]  # NumPy's or ours: both have the same operators
ROUNDS_S = 1.0  # of both sides of a case together, but
FEWEST_ROUNDS = 5


def main() -> None:
    """Seconds of each case, ours under its name and NumPy's beside it."""
    found: dict[str, float] = {}
    for name, case in CASES.items():
        found[name], found[f"{name}, NumPy"] = measure(name, case)
    print(json.dumps(found))


def measure(name: str, case: Case) -> tuple[float, float]:
    """The least seconds of a round, ours and NumPy's; the first two rounds compile and check."""
    spent: list[tuple[float, float]] = []
    total, number = 0.0, 0
    while number < 2 + FEWEST_ROUNDS or total < ROUNDS_S:
        arrays = _inputs(case, number)
        started = time.process_time()
        ours = case.ours(*[Tensor(array) for array in arrays]).numpy()
        between = time.process_time()
        peer = case.numpy(*arrays)
        finished = time.process_time()
        if number < 2:
            scale = float(np.abs(peer).max())
            if not np.allclose(ours, peer, rtol=case.rtol, atol=case.rtol * scale):
                raise RuntimeError(f"{name}: not what NumPy computes")
        else:
            spent.append((between - started, finished - between))
            total += finished - started
        number += 1
    return min(ours for ours, _ in spent), min(peer for _, peer in spent)


def _inputs(case: Case, number: int) -> Arrays:
    """New arrays in every round."""
    generator = np.random.default_rng(number)
    return tuple([generator.standard_normal(shape, dtype=np.float32) for shape in case.shapes])


if __name__ == "__main__":
    main()
