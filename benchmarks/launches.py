"""What a frontend costs: `python -m benchmarks.launches` prints JSON.

Microseconds for each launch of a recorded program of small kernels, on LLVM; seconds to schedule
graphs that grow large: a chain, a wide graph, a reduction over a prime length, a backward pass.
"""

import json
import time
from collections.abc import Callable, Sequence

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before our runtime counts the cores

import numpy as np  # noqa: E402  # see the line above

from compiler import Tensor, jit  # noqa: E402  # likewise
from compiler.frontend.schedule import split  # noqa: E402  # likewise
from compiler.frontend.storage import storage_of  # noqa: E402  # likewise

ROUNDS = 200
KERNELS = 50
PRIME = 10_007


def main() -> None:
    """Overhead of launches, time of scheduling."""
    launches = {"launch_us": launch_us(), "state_us": state_us(), "eager_us": eager_us()}
    print(json.dumps({**launches, **schedules()}))


def _chain(x: Tensor) -> Tensor:
    for _ in range(KERNELS):
        x = (x * 2 + 1).contiguous()  # of 8 elements: nothing but overhead
    return x


def launch_us() -> float:
    """Of one kernel of a recorded program, arguments and results included."""
    program, x = jit(_chain), Tensor(np.arange(8, dtype=np.float32))
    program(x)
    return 1e6 * _fastest(lambda: program(x), ROUNDS) / KERNELS


def state_us() -> float:
    """Of one kernel whose result is new state: memory for it included."""
    state = [Tensor(np.ones(8 + i, np.float32)) for i in range(KERNELS)]

    @jit(state=state)
    def update() -> None:
        for tensor in state:
            tensor += 1  # in place

    update()
    return 1e6 * _fastest(update, ROUNDS) / KERNELS


def eager_us() -> float:
    """The same, scheduled in every call."""
    x = Tensor(np.arange(8, dtype=np.float32))
    return 1e6 * _fastest(lambda: _chain(x).realize(), ROUNDS // 10) / KERNELS


def schedules() -> dict[str, float]:
    """Seconds of one `split`."""
    graphs: dict[str, Callable[[], Sequence[Tensor]]] = {
        "chain100_s": lambda: [_layers(Tensor(np.ones(8)), 100)],
        "graph1000_s": _wide,
        "prime_s": lambda: [Tensor(np.ones(PRIME)).sum()],
        "backward_s": _backward,
    }
    return {name: _schedule_s(graph()) for name, graph in graphs.items()}


def _schedule_s(tensors: Sequence[Tensor]) -> float:
    values = [tensor.value for tensor in tensors]
    return _fastest(lambda: split(values, storage_of), 5)


def _layers(x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = (x * 1.5 + 1).tanh()
    return x


def _wide() -> list[Tensor]:
    level = [Tensor(np.ones(8)) * i for i in range(250)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [a + b for a, b in pairs] + level[len(level) // 2 * 2 :]
    return level


def _backward() -> Sequence[Tensor]:
    x = Tensor(np.ones((4, 4)))
    weights = [Tensor(np.ones((4, 4)) * i) for i in range(100)]
    y = x
    for weight in weights:
        y = (y @ weight).relu()
    return y.sum().gradient(*[weight.value for weight in weights])


def _fastest(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
