"""Programs that other compilers got wrong, on every backend and under every schedule named."""

import numpy as np
import pytest

from compiler import Tensor, compiling, open_device
from compiler.errors import DeviceError
from tests.cases.programs import numbers, reductions, windows
from tests.cases.programs.case import as_constants
from tests.cases.schedules import chooser

CASES = (*reductions.CASES, *numbers.CASES, *windows.CASES)
BACKENDS = ("llvm", "opencl")


def runs():
    """(case, device, schedule, whether the inputs are constants)."""
    for case in CASES:
        yield case, "reference", "none", False
        for device in BACKENDS:
            for schedule in ("none", "default", *case.schedules):
                run = (case, device, schedule, False)
                is_slow = device == "opencl" and schedule != "default"  # half a second a kernel
                yield pytest.param(*run, marks=pytest.mark.slow) if is_slow else run
            if case.constants:
                yield case, device, "default", True


def label(value):
    return getattr(value, "name", None) or str(value)


@pytest.fixture
def opened(request):
    """The name of a device that can be opened here."""
    device = request.param
    try:
        open_device(device)
    except DeviceError as error:
        pytest.skip(str(error))
    return device


@pytest.mark.parametrize(
    ("case", "opened", "schedule", "constants"), list(runs()), ids=label, indirect=["opened"]
)
def test_a_program_that_others_got_wrong_is_right(case, opened, schedule, constants):
    arrays = case.inputs()
    make = as_constants if constants else lambda array, device: Tensor(array, device=device)
    tensors = {name: make(array, opened) for name, array in arrays.items()}
    with compiling(choose=chooser(schedule)), np.errstate(all="ignore"):
        found = [tensor.numpy() for tensor in case.program(**tensors)]
        wanted = [np.asarray(array) for array in case.expected(**arrays)]
    assert len(found) == len(wanted)
    for index, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        where = f"output {index}"
        is_exact = theirs.dtype.kind in "biu"
        rtol, atol = (0.0, 0.0) if is_exact else case.tolerance(index)
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), where
        np.testing.assert_allclose(
            mine, theirs, rtol=rtol, atol=atol, equal_nan=True, err_msg=where
        )
