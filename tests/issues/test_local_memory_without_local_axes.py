"""Found by drawing tensor cores for `replay fuzz`: a core of one work item, emulated on OpenCL.

Its operands lie in local memory, and no axis was LOCAL; the kernel said nothing of groups, so the
device made some, whose items overwrote each other's operands. Their kind: what has local memory
says how many work items share it.
"""

import pytest

from compiler import compile_kernel, find_target, open_device
from compiler.errors import DeviceError
from compiler.ir import CORES, Op
from compiler.kernel import Tc
from replay.numerics.verify import verify
from replay.outcome import Numerics
from tests.kernel.products import matmul

SINGLE = [core for core in CORES if core.items == 1]


def compiled(core):
    ast = matmul(2 * core.size("m"), 2 * core.size("n"), 2 * core.size("k"), core)
    opts = (Tc(core.name, "g1", "g0", "r0", 0, 3),)
    return compile_kernel(ast, find_target("opencl"), opts=opts)


@pytest.mark.parametrize("core", SINGLE, ids=lambda core: core.name)
def test_a_kernel_with_local_memory_has_groups_of_a_known_size(core):
    result = compiled(core)
    assert any(node.op is Op.LOCAL for node in result.stages[-1].node.src)
    assert set(result.program.launch.local_size) == {1}


def test_a_core_of_one_work_item_is_emulated_on_a_device_with_groups():
    try:
        device = open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    result = compiled(SINGLE[-1])
    assert verify(result, device, "seed").numerics is Numerics.EXACT
