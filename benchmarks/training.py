"""A training step of the digits net: `python -m benchmarks.training` prints milliseconds as JSON.

Small convolutions forward and backward, an optimizer, and 26 launches: the program of
`examples/digits.py`, recorded once. One core, CPU time, fastest step.
"""

import json
import time

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before our runtime counts the cores

from compiler import Tensor, jit, nn, optim  # noqa: E402  # see the line above
from examples.digits import Net, load  # noqa: E402  # likewise

STEPS = 40


def main() -> None:
    """Milliseconds of one step, data in and loss out."""
    known, _ = load()
    model = Net(nn.Initial(seed=0, device="llvm"))
    optimizer = optim.Adam(nn.parameters(model), learning_rate=0.002)

    @jit(state=optimizer.state)
    def step(images: Tensor, labels: Tensor) -> Tensor:
        return optim.minimize(nn.cross_entropy(model(images), labels), optimizer)

    times: list[float] = []
    for batch, _ in zip(known.batches(epochs=3, seed=1), range(STEPS), strict=False):
        started = time.process_time()
        float(step(*batch.on("llvm")))
        times.append(time.process_time() - started)
    print(json.dumps({"step_ms": 1e3 * min(times)}))


if __name__ == "__main__":
    main()
