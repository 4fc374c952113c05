"""Arguments and launch of a kernel, and the value of symbolic sizes."""

import pytest

from compiler.backends import Launch, Role, arguments_of, launch_of, size_value
from compiler.ir import FLOAT32, INT32, AxisKind, Op, const, intern, parse_node

AST = """ir 1
%0 = BUFFER float32 slot=0 size=3
%1 = BUFFER float32 slot=1 size=12
%2 = LOAD float32 %1 view=[(3,4):(4,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(3,4):(1,0)]
%5 = SINK void %4 axes=(g0:3,r0:4)
"""


def test_arguments_of_an_ast_are_its_buffers_by_slot():
    found = [(a.role, a.name, a.dtype, a.size) for a in arguments_of(parse_node(AST))]
    assert found == [(Role.OUTPUT, "data0", FLOAT32, 3), (Role.INPUT, "data1", FLOAT32, 12)]


def test_a_buffer_that_is_read_and_written_is_inout(code):
    zero = code.const(INT32, 0)
    buffer = code.buffer(0, INT32, 1)
    code.write(buffer, zero, code.read(buffer, zero))
    assert arguments_of(code.program())[0].role is Role.INOUT


def test_variables_come_last_by_name_with_their_range(code):
    n, k = [code.emit(Op.VAR, INT32, (), (name, 1, 9)) for name in ("n", "k")]
    total = code.emit(Op.ADD, INT32, (n, k))
    code.write(code.buffer(0, INT32, 1), code.const(INT32, 0), total)
    found = [(a.name, a.limits) for a in arguments_of(code.program())]
    assert found == [("data0", None), ("k", (1, 9)), ("n", (1, 9))]


def test_a_kernel_without_parallel_axes_is_launched_once(code):
    code.write(code.buffer(0, INT32, 1), code.const(INT32, 0), code.const(INT32, 5))
    assert launch_of(code.program()) == Launch()


def test_the_launch_is_the_outermost_global_range(code):
    first = code.range("r0", 5, AxisKind.REDUCE)
    code.end(first)
    outer = code.range("g0", 7)
    inner = code.range("g1", 8)
    written = code.write(code.buffer(0, INT32, 8), inner, outer)
    code.end(outer, code.end(inner, written))
    assert launch_of(code.program()) == Launch((7,))


def test_the_launch_counts_work_items_and_groups(code):
    indices = [code.special("group0", 10), code.special("local0", 4), code.special("group1", 3)]
    total = code.emit(Op.ADD, INT32, (indices[0], indices[2]))
    code.write(code.buffer(0, INT32, 99), total, indices[1])
    assert launch_of(code.program()) == Launch((40, 3), (4, 1))


def test_a_symbolic_launch_has_a_value_for_each_variable(code):
    n = code.emit(Op.VAR, INT32, (), ("n", 1, 100))
    group = code.emit(Op.SPECIAL, INT32, (n,), ("group0",))
    local = code.special("local0", 4)
    code.write(code.buffer(0, INT32, 400), group, local)
    launch = launch_of(code.program())
    assert size_value(launch.global_size[0], {"n": 25}) == 100


@pytest.mark.parametrize(("n", "value"), [(0, -2), (7, 0), (20, 4)])
def test_a_symbolic_size_is_computed_as_the_ir_says(n, value):
    variable = intern(Op.VAR, INT32, (), ("n", 0, 100))
    shifted = intern(Op.SUB, INT32, (variable, const(INT32, 6)))
    size = intern(Op.IDIV, INT32, (shifted, const(INT32, 3)))
    assert size_value(size, {"n": n}) == value
