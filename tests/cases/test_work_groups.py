"""Case 33: sizes that no work group divides, too many axes, nothing to do, one element."""

import numpy as np
import pytest

from compiler import Tensor, compile_kernel, compiling, find_target, open_device, parse_node
from compiler.errors import DeviceError, IllegalOptError
from compiler.ir import INT32
from compiler.kernel import Group, GroupTop, Local

INPUTS = {
    "v": np.arange(10, dtype=np.int32),
    "p": (np.arange(4099) * 7 % 1013).astype(np.int32),
    "n": np.arange(2520, dtype=np.int32).reshape(3, 4, 5, 6, 7),
    "w": (np.arange(8192) % 17).astype(np.int32),
}
PROGRAMS = {  # 4099 is prime; n has five axes where a launch has three
    "not divided by 4": (lambda v, p, n, w: v + 1, INPUTS["v"] + 1),
    "prime": (lambda v, p, n, w: p * 3, INPUTS["p"] * 3),
    "five axes": (
        lambda v, p, n, w: n.transpose((4, 3, 2, 1, 0)) + 1,
        INPUTS["n"].transpose(4, 3, 2, 1, 0) + 1,
    ),
    "one sum": (lambda v, p, n, w: w.sum(dtype="int32"), INPUTS["w"].sum(dtype=np.int32)),
    "nothing": (lambda v, p, n, w: v[0:0] + 1, INPUTS["v"][:0] + 1),
    "one element": (lambda v, p, n, w: v[0:1] + 1, INPUTS["v"][:1] + 1),
}
ADD_ONE = """ir 1
%0 = BUFFER int32 slot=0 size={size}
%1 = BUFFER int32 slot=1 size={size}
%2 = LOAD int32 %1 view=[({size}):(1)]
%3 = CONST int32 value=1 view=none
%4 = ADD int32 %2 %3
%5 = STORE void %0 %4 view=[({size}):(1)]
%6 = SINK void %5 axes=(g0:{size})
"""
SUM = """ir 1
%0 = BUFFER int32 slot=0 size=1
%1 = BUFFER int32 slot=1 size=8192
%2 = LOAD int32 %1 view=[(8192):(1)]
%3 = REDUCE int32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(8192):(0)]
%5 = SINK void %4 axes=(r0:8192)
"""
OPENCL = find_target("opencl")


@pytest.fixture
def opencl():
    return device("opencl")


def device(name):
    try:
        return open_device(name)
    except DeviceError as error:
        pytest.skip(str(error))


def compiled(text, *opts):
    return compile_kernel(parse_node(text), OPENCL, opts=opts).program


def run(opencl, program, array, size):
    out, source = opencl.allocate(INT32, size), opencl.allocate(INT32, array.size)
    opencl.upload(source, array)
    opencl.build(program)([out, source], {})
    return opencl.download(out)


@pytest.mark.parametrize("name", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("choose", [None, lambda ast, target: ()], ids=["default", "none"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_sizes_of_any_kind_are_launched_right(name, choose, program):
    device(name)
    compute, wanted = PROGRAMS[program]
    with compiling(choose=choose):
        arrays = {key: Tensor(array, device=name) for key, array in INPUTS.items()}
        found = compute(**arrays).numpy()
    assert (found.shape, found.dtype) == (np.shape(wanted), np.int32)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("size", "amount"), [(10, 4), (10, 0), (4099, 2), (4099, 64), (8192, 8192)]
)
def test_a_work_group_that_does_not_fit_is_an_opt_error_and_no_device_error(size, amount):
    with pytest.raises(IllegalOptError, match=r"(?i)local"):
        compiled(ADD_ONE.format(size=size), Local("g0", amount))


def test_a_work_group_that_divides_is_launched(opencl):
    program = compiled(ADD_ONE.format(size=10), Local("g0", 5))
    assert program.launch.local_size == (5,)
    assert np.array_equal(run(opencl, program, INPUTS["v"], 10), INPUTS["v"] + 1)


@pytest.mark.parametrize("opt", [Group, GroupTop])
@pytest.mark.parametrize("amount", [16, 256, OPENCL.capabilities.max_group_items])
def test_a_grouped_sum_is_right_up_to_the_limit_of_the_device(opencl, opt, amount):
    program = compiled(SUM, opt("r0", amount))
    assert run(opencl, program, INPUTS["w"], 1)[0] == INPUTS["w"].sum()


@pytest.mark.parametrize("opt", [Group, GroupTop])
@pytest.mark.parametrize("factor", [2, 4])
def test_a_group_above_the_limit_of_the_device_is_an_opt_error(opt, factor):
    with pytest.raises(IllegalOptError):
        compiled(SUM, opt("r0", factor * OPENCL.capabilities.max_group_items))


def test_all_local_axes_together_count_against_the_limit():
    text = ADD_ONE.format(size=8192)
    limit = OPENCL.capabilities.max_group_items
    with pytest.raises(IllegalOptError):
        compiled(text, Local("g0", 64), Local("g0.o", limit // 32))
