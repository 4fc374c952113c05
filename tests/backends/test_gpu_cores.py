"""Tensor cores of GPUs as text: no such device is here, the reference runs their lane layouts.

Clang 15 has compiled each OpenCL text in gpu_cores/ for the device it is meant for (sm_80, gfx1100,
gfx90a; Intel's with a prototype of the function, as only their own compiler knows it).
"""

from pathlib import Path

import pytest

from compiler import compile_kernel, find_target
from compiler.backends.metal.cores import CORE_CALLS as METAL
from compiler.backends.opencl.cores import CORE_CALLS as OPENCL
from compiler.errors import BuildError
from compiler.ir import CORES, find_core
from compiler.kernel import Tc
from tests.kernel.products import matmul, target_of

GOLDEN = Path(__file__).parent / "gpu_cores"
TARGETS = (
    "opencl/nvidia-sm80",
    "opencl/amd-gfx1100",
    "opencl/amd-gfx90a",
    "opencl/intel-xmx",
    "metal/apple7",
)
ENDINGS = {"opencl": "cl", "metal": "metal"}
CASES = [(n, find_target(t)) for t in TARGETS for n in find_target(t).capabilities.tensor_cores]


def compiled(core, target, more=()):
    shape = (2 * core.size("m"), core.size("n"), 2 * core.size("k"))
    opts = (Tc(core.name, "g1", "g0", "r0"), *more)
    return compile_kernel(matmul(*shape, core), target, opts=opts)


@pytest.mark.parametrize(("name", "target"), CASES, ids=[name for name, _ in CASES])
def test_the_text_of_a_product_on_a_core(name, target):  # row 36
    source = compiled(find_core(name), target).program.source
    golden = GOLDEN / f"{name}.{ENDINGS[target.backend]}"
    assert source == golden.read_text(encoding="utf-8")


def test_every_core_of_a_gpu_has_a_profile_and_a_spelling():
    gpus = [core.name for core in CORES if core.items > 1]
    assert sorted([*OPENCL, *METAL]) == sorted([name for name, _ in CASES]) == sorted(gpus)


@pytest.mark.parametrize("name", ["apple.simdgroup8x8.f32", "apple.simdgroup8x8.f16"])
def test_a_core_that_a_language_cannot_name_is_refused(name):
    core = find_core(name)
    with pytest.raises(BuildError, match=rf"core {name} has no spelling in OpenCL C"):
        compiled(core, target_of(core))


@pytest.mark.parametrize("target", TARGETS)
def test_heuristics_take_the_first_core_of_a_profile(target):
    found = find_target(target)
    core = find_core(found.capabilities.tensor_cores[0])
    program = compile_kernel(matmul(64, 64, 64, core), found).program
    assert f"static float{core.c.count} {core.name.replace('.', '_')}(" in program.source


def test_a_kernel_has_the_function_of_a_core_once_however_many_products():
    core = find_core(CASES[0][0])
    program = compile_kernel(matmul(64, 64, 64, core), CASES[0][1]).program
    assert program.source.count("mma.sync") == 1
    assert program.source.count("nvidia_m16n8k16_f16(") > 2
