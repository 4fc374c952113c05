"""Opts that are the same on several targets, and what follows: the same bits in training."""

import numpy as np
import pytest

from compiler import (
    CompileFinished,
    Tensor,
    compiling,
    jit,
    nn,
    observing,
    open_device,
    optim,
    same_opts,
)
from compiler.errors import DeviceError


def requested(device, chooser):
    events = []
    x = Tensor(np.arange(32 * 48, dtype=np.float32).reshape(32, 48), device=device)
    with compiling(choose=chooser), observing(events.append):
        (x @ x.T + 1).realize()
    return [event.compiled.applied for event in events if isinstance(event, CompileFinished)]


def opens(device):
    try:
        open_device(device)
    except DeviceError:
        return False
    return True


needs_opencl = pytest.mark.skipif(not opens("opencl"), reason="no opencl device here")


@needs_opencl
def test_one_choice_serves_all_targets():
    chooser = same_opts("llvm", "opencl")
    first, second = requested("llvm", chooser), requested("opencl", chooser)
    assert first == second
    assert any(first)


def test_without_targets_no_kernel_gets_opts():
    assert requested("llvm", same_opts()) == [()]


class Net:
    def __init__(self, device):
        make = nn.Initial(seed=0, device=device)
        self.conv = nn.Conv(make, 1, 3, (3, 3), padding=1)
        self.last = nn.Linear(make, 3 * 2 * 2, 4)

    def __call__(self, x):
        return self.last(self.conv(x).relu().max_pool((2, 2)).flatten(1))


def losses(device):
    """Three steps of training a very small net."""
    random = np.random.RandomState(0)
    x = Tensor(random.standard_normal((8, 1, 4, 4)).astype(np.float32), device=device)
    labels = Tensor(random.randint(0, 4, 8).astype(np.int32), device=device)
    model = Net(device)
    optimizer = optim.SGD(nn.parameters(model), 0.1)

    @jit(state=optimizer.state)
    def step():
        return optim.minimize(nn.cross_entropy(model(x), labels), optimizer)

    with compiling(choose=same_opts("llvm", "opencl")):
        return [step().numpy().tobytes() for _ in range(3)]


@needs_opencl
def test_training_has_the_same_losses_bit_for_bit_under_the_same_opts():
    found = losses("llvm")
    assert found == losses("opencl")
    assert len(set(found)) == 3
