"""Realizing: what runs, what is kept, and what a failure leaves behind."""

import numpy as np
import pytest

from compiler import CompileFinished, CompileStarted, Tensor, compiling, observing
from compiler.backends import Program
from compiler.errors import CompilerError, DeviceError, IllegalOptError
from compiler.frontend import realize as realizing
from compiler.frontend.launches import counting_launches
from compiler.frontend.tensor import wrap
from compiler.kernel import Upcast


def compiles(action):
    """The compile events of `action`."""
    events = []
    with observing(events.append):
        action()
    return [event for event in events if isinstance(event, CompileStarted)]


def fresh(size):
    """An expression over memory of its own."""
    return Tensor(np.arange(size, dtype=np.float32), device="reference") * 3


def test_nothing_runs_before_the_elements_are_asked_for():
    assert compiles(lambda: fresh(11).exp().sum()) == []


def test_an_equal_kernel_is_compiled_once():
    fresh(13).realize()
    assert compiles(fresh(13).realize) == []


def test_what_was_realized_is_not_computed_again():
    x = fresh(17).realize()
    assert compiles(x.numpy) == []
    assert compiles(x.realize) == []


def test_a_reshape_of_memory_launches_nothing():
    x = Tensor(np.arange(12.0), device="reference")
    assert compiles(x.reshape(3, 4).numpy) == []


def computed(x):
    """The expression that `x` was, whose elements are in memory by now."""
    expression = wrap(x.value)
    x.realize()
    return expression


TWELVE = np.arange(12.0).reshape(3, 4)
ROW_BY_ROW = {
    "what was given": lambda x: (x, TWELVE),
    "its reshape": lambda x: (x.reshape(4, 3), TWELVE.reshape(4, 3)),
    "what was computed": lambda x: (computed(x * 2), TWELVE * 2),
    "a reshape of it": lambda x: (computed(x + 3).reshape(6, 2), TWELVE.reshape(6, 2) + 3),
    "a copy": lambda x: (computed(x.T.contiguous()), TWELVE.T),
    "a reshape of a copy": lambda x: (computed(x.T.contiguous()).reshape(-1), TWELVE.T.ravel()),
}


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_what_lies_in_memory_row_by_row_is_not_scheduled_again(name, check):
    x, wanted = ROW_BY_ROW[name](Tensor(TWELVE, device="reference"))
    assert x.contiguous().explain() == "no kernel: all of it is in memory"
    with counting_launches() as launches:
        check(x.contiguous(), wanted)
    assert launches.count == 0


@pytest.mark.parametrize("shape", [(0,), (2, 0, 4)])
def test_tensors_without_elements_launch_nothing(shape):
    x = Tensor(np.zeros(shape), device="reference")
    assert compiles((x.exp() + 1).numpy) == []
    assert (x.exp() + 1).numpy().shape == shape


def test_constants_and_views_can_be_realized(check):
    check(Tensor.full((2, 2), 7, device="reference"), np.full((2, 2), 7))
    x = np.arange(6.0).reshape(2, 3)
    check(Tensor(x, device="reference").T, x.T)


def test_the_array_is_a_copy_on_the_way_in_and_on_the_way_out():
    array = np.zeros(3)
    x = Tensor(array, device="reference")
    array[0] = 5
    out = x.numpy()
    out[1] = 7
    assert x.numpy().tolist() == [0, 0, 0]


class BrokenDevice:
    """The reference device, but its kernels fail when they run."""

    def __init__(self, device):
        self.device = device

    def __getattr__(self, name):
        return getattr(self.device, name)

    def build(self, program: Program):
        def fail(buffers, variables):
            raise DeviceError(f"{program.name}: failed")

        return fail


def test_a_failed_kernel_leaves_its_tensor_not_computed(monkeypatch):
    x = fresh(19)
    opened = realizing.open_device
    with monkeypatch.context() as patch:
        patch.setattr(realizing, "_builds", type(realizing._builds)())  # noqa: SLF001  # an empty cache
        patch.setattr(realizing, "open_device", lambda name: BrokenDevice(opened(name)))
        for _ in range(2):
            with pytest.raises(DeviceError, match="failed"):
                x.numpy()
    assert x.numpy().tolist() == [3.0 * i for i in range(19)]


def test_a_compile_that_fails_fails_again():
    x = Tensor(np.arange(23, dtype=np.float32), device="llvm") * 3
    with compiling(choose=lambda ast, target: (Upcast("nonsense", 4),)):
        for _ in range(2):
            with pytest.raises(IllegalOptError, match="nonsense"):
                x.realize()


def test_opts_are_requested_for_what_is_realized_inside_the_block():
    x = Tensor(np.arange(32, dtype=np.float32), device="llvm") * 3
    events = []
    with compiling(choose=lambda ast, target: (Upcast("g0", 4),)), observing(events.append):
        x.realize()
    (finished,) = [event for event in events if isinstance(event, CompileFinished)]
    assert finished.compiled.applied == (Upcast("g0", 4),)
    assert x.numpy().tolist() == [3.0 * i for i in range(32)]


def test_tensors_of_two_devices_do_not_meet():
    with pytest.raises(DeviceError, match="reference and llvm"):
        Tensor([1], device="reference") + Tensor([1], device="llvm")


def test_a_tensor_moves_to_another_device(check):
    x = Tensor([1.0, 2.0], device="reference") * 2
    moved = x.to("llvm")
    assert moved.device == "llvm"
    check(moved + 1, np.array([3.0, 5.0]))


def test_an_unknown_device_is_refused_by_name():
    with pytest.raises(CompilerError, match="cuda"):
        Tensor([1], device="cuda")
