"""Transcendental functions on LLVM and OpenCL: the bits of the decomposition that NumPy gets."""

import numpy as np
import pytest
from transcendental_samples import FUNCTIONS, arguments_of, evaluate

from compiler import compile_kernel, find_target, open_device, parse_node
from compiler.backends.reference.arithmetic import numpy_dtype
from compiler.errors import DeviceError
from compiler.ir import Op

UNARY = """ir 1
%0 = BUFFER {dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot=1 size={size}
%2 = LOAD {dtype} %1 view=[({size}):(1)]
%3 = {op} {dtype} %2
%4 = STORE void %0 %3 view=[({size}):(1)]
%5 = SINK void %4 axes=(g0:{size})
"""
BINARY = """ir 1
%0 = BUFFER {dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot=1 size={size}
%2 = LOAD {dtype} %1 view=[({size}):(1)]
%3 = BUFFER {dtype} slot=2 size={size}
%4 = LOAD {dtype} %3 view=[({size}):(1)]
%5 = {op} {dtype} %2 %4
%6 = STORE void %0 %5 view=[({size}):(1)]
%7 = SINK void %6 axes=(g0:{size})
"""


@pytest.fixture(scope="session", params=["llvm", "opencl"])
def device(request):
    try:
        return open_device(request.param)
    except DeviceError as error:
        pytest.skip(str(error))


def run(device, op, dtype, arguments):
    """The kernel that applies `op` to every element, on a device."""
    size = arguments[0].size
    text = (BINARY if op is Op.POW else UNARY).format(op=op.name, dtype=dtype, size=size)
    program = compile_kernel(parse_node(text), find_target(device.target.backend)).program
    buffers = [device.allocate(dtype, size) for _ in range(len(arguments) + 1)]
    for buffer, array in zip(buffers[1:], arguments, strict=True):
        device.upload(buffer, array)
    device.build(program)(buffers, {})
    return device.download(buffers[0])


@pytest.mark.parametrize(("op", "dtype"), FUNCTIONS, ids=str)
def test_every_device_gives_the_bits_of_the_decomposition(device, op, dtype):
    arguments = [array[: array.size // 16 * 16] for array in arguments_of(op, dtype, 20_000, 1)]
    expected = evaluate(op, dtype, *arguments)
    integer = f"u{numpy_dtype(dtype).itemsize}"
    got = run(device, op, dtype, arguments)
    same = (got.view(integer) == expected.view(integer)) | (np.isnan(got) & np.isnan(expected))
    wrong = np.flatnonzero(~same)[:3]
    assert same.all(), [([a[i] for a in arguments], got[i], expected[i]) for i in wrong]
