"""What was found by trying from outside is tried on the reference and where kernels are built."""

import pytest

from compiler import open_device
from compiler.errors import DeviceError


@pytest.fixture(params=["reference", "llvm", pytest.param("opencl", marks=pytest.mark.slow)])
def device(request):
    """The name of a device that can be opened here."""
    try:
        open_device(request.param)
    except DeviceError as error:
        pytest.skip(f"no {request.param} device here: {error}")
    return request.param
