"""Kernels that are built as one OpenCL program are what each would be alone, or are not."""

import pytest

from compiler.backends import Argument, Launch, Program, Role, open_device
from compiler.backends.opencl.joint import groups_of
from compiler.errors import BuildError, DeviceError
from compiler.ir import FLOAT32
from compiler.target import OPENCL

OFF = "#pragma OPENCL FP_CONTRACT OFF\n"
DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"


def kernel(name, head=OFF, body="x[0] = 1.0f;"):
    source = f"{head}__kernel void {name}(__global float *restrict x) {{ {body} }}\n"
    argument = Argument(Role.OUTPUT, "x", FLOAT32)
    return Program(name, source, OPENCL, (argument,), Launch((1,)))


def names_of(*programs):
    return [[program.name for program in group] for group in groups_of(programs)]


def test_kernels_under_the_same_pragmas_are_built_together():
    assert names_of(kernel("a"), kernel("b"), kernel("c")) == [["a", "b", "c"]]


def test_a_pragma_does_not_reach_a_kernel_that_lacks_it():
    a, b, c, d = kernel("a"), kernel("b", ""), kernel("c", OFF + DOUBLE), kernel("d", "")
    assert names_of(a, b, c, d) == [["b", "d"]]


@pytest.mark.parametrize("line", ["#define x y\n", "  #if 0\n", "#pragma unroll\n", "# pragma a\n"])
def test_a_source_with_another_directive_stands_alone(line):
    assert names_of(kernel("a", line), kernel("b", line)) == []


def test_of_two_kernels_of_one_name_the_first_is_built_ahead():
    first, second = kernel("a"), kernel("a", body="x[0] = 2.0f;")
    (group,) = groups_of([first, second, kernel("b")])
    assert group[0] is first
    assert len(group) == 2


@pytest.fixture(scope="module")
def device():
    try:
        return open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))


def result_of(device, program):
    buffer = device.allocate(FLOAT32, 1)
    device.build(program)([buffer])
    return device.download(buffer).tolist()


def test_what_was_built_ahead_is_what_build_gives(device):
    programs = [kernel(f"ahead{n}", body=f"x[0] = {n}.0f;") for n in range(3)]
    device.build_ahead(programs)
    assert [result_of(device, program) for program in programs] == [[0.0], [1.0], [2.0]]


def test_a_source_that_does_not_compile_is_refused_alone(device):
    good, bad = kernel("good"), kernel("bad", body="x[0] = nonsense;")
    device.build_ahead([bad, good])
    assert result_of(device, good) == [1.0]
    with pytest.raises(BuildError, match="nonsense"):
        device.build(bad)
