"""Every test of tensors runs on the reference, which compiles nothing; the slow ones everywhere."""

import numpy as np
import pytest

from compiler import Tensor, open_device
from compiler.errors import DeviceError


def _opens(device):
    try:
        open_device(device)
    except DeviceError:
        return False
    return True


@pytest.fixture(
    params=[
        "reference",
        pytest.param("llvm", marks=pytest.mark.slow),
        pytest.param("opencl", marks=pytest.mark.slow),
    ]
)
def device(request):
    """The name of a device that can be opened here."""
    if not _opens(request.param):
        pytest.skip(f"no {request.param} device here")
    return request.param


@pytest.fixture
def tensor(device):
    """Makes tensors of that device."""
    return lambda data, dtype=None: Tensor(data, dtype, device=device)


@pytest.fixture
def check():
    """Holds a tensor against NumPy: shape, dtype, and elements exactly or within a tolerance."""

    def compare(found, wanted, rtol=0.0, atol=0.0):
        array, wanted = found.numpy(), np.asarray(wanted)
        assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype)
        if rtol == atol == 0.0:
            assert np.array_equal(array, wanted, equal_nan=array.dtype.kind == "f")
        else:
            np.testing.assert_allclose(array, wanted, rtol=rtol, atol=atol)

    return compare


@pytest.fixture
def random():
    """Random numbers, the same in every run."""
    return np.random.default_rng(7)
