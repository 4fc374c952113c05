"""Tensor cores of CPUs on the host: the bits that the reference gives, or a refusal."""

import numpy as np
import pytest

from compiler import compile_kernel, find_target
from compiler.backends import open_device
from compiler.backends.reference import evaluate
from compiler.errors import DeviceError
from compiler.ir import find_core
from compiler.kernel import Tc
from tests.kernel.products import exact, matmul, matrices

CORES = ["cpu.outer16x16.f32", "cpu.dpbf16ps", "cpu.vpdpbusd"]


@pytest.mark.parametrize("name", CORES)
def test_the_host_gives_the_bits_of_the_reference(name):  # row 36
    core, shape = find_core(name), (16, 32, 12)
    device, target = open_device("llvm"), find_target("llvm/x86-64-v4-bf16")
    if name == CORES[0]:
        target = find_target("llvm/tiles")
    compiled = compile_kernel(matmul(*shape, core), target, opts=(Tc(name, "g1", "g0", "r0"),))
    has = device.toolchain()["features"].split(",")
    if any(f"+{feature}" not in has for feature in target.capabilities.cpu_features):
        with pytest.raises(DeviceError, match="needs avx512"):
            device.build(compiled.program)
        return
    inputs = matrices(*shape, core)
    buffers = [device.allocate(core.dtypes[2], shape[0] * shape[1])]
    for slot, dtype in zip((1, 2), core.dtypes, strict=False):
        buffers.append(device.allocate(dtype, inputs[slot].size))
        stored = inputs[slot].view(np.uint16) if dtype.name == "bfloat16" else inputs[slot]
        device.upload(buffers[-1], stored)
    device.build(compiled.program)(buffers)
    found = device.download(buffers[0])
    np.testing.assert_array_equal(found, evaluate(compiled.stages[-1].node, inputs)[0])
    np.testing.assert_allclose(found.reshape(shape[:2]), exact(*shape, inputs), 0, 1e-4)
