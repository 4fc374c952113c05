"""Case 31: names that are reserved words, builtins or nothing at all; what a failed build says."""

from dataclasses import replace

import numpy as np
import pytest

from compiler import CompileOptions, CompilerError, compile_kernel, find_target, open_device
from compiler.errors import BuildError, OptionError
from compiler.ir import INT32, INT64, VOID, Op, View, ViewStack, const, intern, parse_node

NAMES = (
    *("global", "local", "kernel", "half", "float4", "double16", "bool", "image2d_t", "sampler_t"),
    *("abs", "max", "main", "if", "2fast", "a b", ""),
)
VARIABLES = ("int", "max", "gidx0", "acc0", "constant", "half")
X = np.array([0, 1, -1, 5, 100, -100, 2**30 - 1, 7], np.int32)
AST = """ir 1
%0 = BUFFER int32 slot=0 size=8
%1 = BUFFER int32 slot=1 size=8
%2 = LOAD int32 %1 view=[(8):(1)]
%3 = CONST int32 value=2 view=none
%4 = MUL int32 %2 %3
%5 = CONST int32 value=1 view=none
%6 = ADD int32 %4 %5
%7 = STORE void %0 %6 view=[(8):(1)]
%8 = SINK void %7 axes=(g0:8)
"""


@pytest.fixture(params=["llvm", "opencl"])
def device(request):
    try:
        return open_device(request.param)
    except CompilerError as error:
        pytest.skip(str(error))


def run(device, program, variables=None):
    out, x = device.allocate(INT32, 8), device.allocate(INT32, 8)
    device.upload(x, X)
    device.build(program)([out, x], variables or {})
    return device.download(out)


def with_variable(name):
    size = intern(Op.VAR, INT64, (), (name, 1, 8))
    view = ViewStack((View((size,), (1,)),))
    buffers = [intern(Op.BUFFER, INT32, (), (slot, 8)) for slot in (0, 1)]
    load = intern(Op.LOAD, INT32, (buffers[1],), (view,))
    value = intern(Op.MUL, INT32, (load, const(INT32, 2)))
    value = intern(Op.ADD, INT32, (value, const(INT32, 1)))
    store = intern(Op.STORE, VOID, (buffers[0], value), (view,))
    return intern(Op.SINK, VOID, (store,), ((("g0", size),),))


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_of_any_name_computes_the_same(device, name):
    options = CompileOptions(name=name)
    program = compile_kernel(parse_node(AST), device.target, options).program
    assert np.array_equal(run(device, program), X * 2 + 1)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_of_any_name_computes_the_same(device, name):
    program = compile_kernel(with_variable(name), device.target).program
    assert np.array_equal(run(device, program, {name: 8}), X * 2 + 1)


def test_names_that_are_made_alike_stay_two_kernels():
    programs = [
        compile_kernel(with_variable(name), find_target("llvm"), CompileOptions(name=shown)).program
        for name, shown in (("n", "a b"), ("m", "a_b"))
    ]
    assert programs[0].name != programs[1].name


def test_a_failed_build_tells_all_and_the_next_one_works(device):
    program = compile_kernel(parse_node(AST), device.target).program
    if device.target.backend == "opencl":
        end, call = program.source.rindex("}"), "undeclared_name();\n"
    else:
        end, call = program.source.rindex("ret void"), "call void @undeclared_name()\n  "
    source = program.source[:end] + call + program.source[end:]
    broken = replace(program, source=source)
    for _ in range(2):  # nothing of a failed build is kept: it fails the same way again
        with pytest.raises(BuildError) as raised:
            device.build(broken)
        assert "undeclared_name" in raised.value.log
        assert raised.value.kernel == program.name
        assert raised.value.source == broken.source
    assert np.array_equal(run(device, program), X * 2 + 1)


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(OptionError, match="option name is 3"):
        CompileOptions(name=3)
