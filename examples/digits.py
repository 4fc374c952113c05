"""Train a small convolutional net on scikit-learn's handwritten digits, on one backend or several.

python -m examples.digits                          LLVM
python -m examples.digits --device llvm opencl     both: their losses must be the same bit for bit

Opts are pinned for all devices together (`--opts own` lets each have its own: sums are then added
up in another order, and the losses differ in their last bits).
"""

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from compiler import Tensor, compiling, jit, nn, optim, same_opts

Array = npt.NDArray[np.generic]

BATCH = 96
HELD_OUT = 360  # of 1,797


class Net:
    """Two convolutions, a pool, and a matrix."""

    def __init__(self, make: nn.Initial) -> None:
        self.first = nn.Conv(make, 1, 16, (3, 3), padding=1)
        self.second = nn.Conv(make, 16, 32, (3, 3), padding=1)
        self.last = nn.Linear(make, 32 * 4 * 4, 10)

    def __call__(self, images: Tensor) -> Tensor:
        x = self.second(self.first(images).relu()).relu().max_pool((2, 2))
        return self.last(x.flatten(1))


@dataclass(frozen=True, slots=True)
class Digits:
    """Images of 8 x 8 between 0 and 1, and which digit each shows."""

    images: Array
    labels: Array

    def batches(self, epochs: int, seed: int) -> Iterator["Digits"]:
        """Whole batches in an order that the seed gives."""
        random = np.random.RandomState(seed)  # its stream is frozen
        for _ in range(epochs):
            order = random.permutation(len(self.labels))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                rows = order[start : start + BATCH]
                yield Digits(self.images[rows], self.labels[rows])

    def on(self, device: str) -> tuple[Tensor, Tensor]:
        """As tensors."""
        return Tensor(self.images, device=device), Tensor(self.labels, device=device)


def load() -> tuple[Digits, Digits]:
    """Digits to train on, and others."""
    found = load_digits()
    images = (found.images / 16).astype(np.float32)[:, None]
    labels = found.target.astype(np.int32)
    order = np.random.RandomState(0).permutation(len(labels))
    parts = order[HELD_OUT:], order[:HELD_OUT]
    train, test = [Digits(images[rows], labels[rows]) for rows in parts]
    return train, test


@dataclass(frozen=True, slots=True)
class Outcome:
    """The loss of every step, bit for bit, and the share of held-out digits that are right."""

    losses: tuple[float, ...]
    accuracy: float

    @property
    def digest(self) -> str:
        """Equal where all losses are equal in every bit."""
        return hashlib.sha256(np.array(self.losses, np.float32).tobytes()).hexdigest()[:16]


def train(device: str, epochs: int, steps: int | None = None) -> Outcome:
    """Train a new net with Adam; `steps` ends it early."""
    known, unknown = load()
    model = Net(nn.Initial(seed=0, device=device))
    optimizer = optim.Adam(nn.parameters(model), learning_rate=0.002)

    @jit(state=optimizer.state)
    def step(images: Tensor, labels: Tensor) -> Tensor:
        return optim.minimize(nn.cross_entropy(model(images), labels), optimizer)

    losses: list[float] = []
    for batch in known.batches(epochs, seed=1):
        losses.append(float(step(*batch.on(device))))
        if len(losses) == steps:
            break
    images, labels = unknown.on(device)
    return Outcome(tuple(losses), float(nn.accuracy(model(images), labels)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Train on each device; 1 if a net has not learned, or if losses differ that must not."""
    parser = argparse.ArgumentParser(prog="python -m examples.digits")
    parser.add_argument("--device", nargs="+", default=["llvm"], metavar="NAME")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--opts", choices=("same", "none", "own"), default="same")
    given = parser.parse_args(arguments)
    choosers = {"same": same_opts(*given.device), "none": same_opts()}
    outcomes = []
    for device in given.device:
        started = time.perf_counter()
        own = given.opts == "own"
        with nullcontext() if own else compiling(choose=choosers[given.opts]):
            outcomes.append(outcome := train(device, given.epochs))
        print(
            f"{device}: {len(outcome.losses)} steps in {time.perf_counter() - started:.1f} s, loss "
            f"{outcome.losses[0]:.4f} to {outcome.losses[-1]:.4f} ({outcome.digest}), "
            f"{outcome.accuracy:.1%} of {HELD_OUT} held-out digits right"
        )
    if given.opts != "own" and len({outcome.digest for outcome in outcomes}) > 1:
        print("the losses differ")
        return 1
    return 0 if min(outcome.accuracy for outcome in outcomes) > 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
