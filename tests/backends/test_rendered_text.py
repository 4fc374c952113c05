"""The generated text: names, what is inlined, what stays in order, that it never varies."""

import math
import subprocess
import sys

import numpy as np
import pytest

from compiler.backends import arguments_of, find_backend
from compiler.ir import BOOL, FLOAT32, FLOAT64, INT32, INT64, VOID, AxisKind, Op, print_node
from compiler.target import LLVM, OPENCL

RESERVED = ("int", "half", "float4", "constant", "max", "if", "main", "group0", "data0", "add0",
            "acc0", "k", "a.b", "a-b", "a_b", "kernel", "g0", "lo", "hi", "entry")  # fmt: skip


def text(backend, node, name="k"):
    target = {"llvm": LLVM, "opencl": OPENCL}[backend]
    return find_backend(backend).render(node, name, arguments_of(node), target)


def test_axes_and_variables_may_have_any_name(runner, code):
    """Every name as a variable and as a loop: sum over loops of the variable, one by one."""
    total = code.emit(Op.ACC, INT32, (), (0,))
    code.emit(Op.INIT, VOID, (total, code.const(INT32, 0)))
    variables = [code.emit(Op.VAR, INT32, (), (name, 0, 9)) for name in RESERVED]
    loops = [code.range(name, 1, AxisKind.REDUCE) for name in RESERVED]
    value = total
    for node in (*variables, *loops):
        value = code.emit(Op.ADD, INT32, (value, node))
    closed = code.emit(Op.SET, VOID, (total, value))
    for loop in reversed(loops):
        closed = code.end(loop, closed)
    result = code.emit(Op.RESULT, INT32, (total, closed), (0,))
    code.write(code.buffer(0, INT32, 1), code.const(INT32, 0), result)
    values = {name: index % 10 for index, name in enumerate(RESERVED)}
    assert runner.run(code.program(), {}, values)[0] == [sum(values.values())]


def test_variables_whose_safe_names_meet_stay_apart(runner, code):
    names = ("a.b", "a-b", "a_b")
    for slot, name in enumerate(names):
        variable = code.emit(Op.VAR, INT32, (), (name, 0, 99))
        code.write(code.buffer(slot, INT32, 1), code.const(INT32, 0), variable)
    results = runner.run(code.program(), {}, {"a.b": 1, "a-b": 2, "a_b": 3})
    assert np.concatenate(results).tolist() == [1, 2, 3]


def row_sum(code):
    row = code.special("group0", 4)
    total = code.emit(Op.ACC, FLOAT32, (), (0,))
    code.emit(Op.INIT, VOID, (total, code.const(FLOAT32, -0.0)))
    column = code.range("r0", 8, AxisKind.REDUCE)
    start = code.emit(Op.MUL, INT32, (row, code.const(INT32, 8)))
    x = code.read(code.buffer(1, FLOAT32, 32), code.emit(Op.ADD, INT32, (start, column)))
    grown = code.emit(Op.ADD, FLOAT32, (total, x))
    ended = code.end(column, code.emit(Op.SET, VOID, (total, grown)))
    result = code.emit(Op.RESULT, FLOAT32, (total, ended), (0,))
    code.write(code.buffer(0, FLOAT32, 4), row, code.emit(Op.SQRT, FLOAT32, (result,)))
    return code.program()


def test_opencl_reads_like_written_by_hand(code):
    assert (
        text("opencl", row_sum(code))
        == """#pragma OPENCL FP_CONTRACT OFF
__kernel void k(__global float *restrict data0, const __global float *restrict data1) {
  int group0 = get_global_id(0);
  float acc0 = (-0.0f);
  for (int r0 = 0; r0 < 8; r0++) {
    acc0 = acc0 + data1[(group0 * 8) + r0];
  }
  data0[group0] = sqrt(acc0);
}
"""
    )


LLVM_HEAD = "define void @k(ptr noalias %data0, ptr noalias readonly %data1, i64 %lo, i64 %hi) "
LLVM_TEXT = """nounwind {
entry:
  %lo0 = trunc i64 %lo to i32
  %hi0 = trunc i64 %hi to i32
  br label %g0.head
g0.head:
  %g0 = phi i32 [ %lo0, %entry ], [ %g0.next, %g0.last ]
  %g0.more = icmp slt i32 %g0, %hi0
  br i1 %g0.more, label %g0.body, label %g0.done
g0.body:
  %mul0 = mul nsw i32 %g0, 4
  %at0 = getelementptr inbounds float, ptr %data1, i32 %mul0
  %read0 = load <4 x float>, ptr %at0, align 4
  %neg0 = fneg <4 x float> %read0
  %at1 = getelementptr inbounds float, ptr %data0, i32 %mul0
  store <4 x float> %neg0, ptr %at1, align 4
  br label %g0.last
g0.last:
  %g0.next = add nuw nsw i32 %g0, 1
  br label %g0.head
g0.done:
  ret void
}
"""


def test_llvm_loops_over_its_part_of_the_outermost_axis(code):
    index = code.range("g0", 16)
    offset = code.emit(Op.MUL, INT32, (index, code.const(INT32, 4)))
    x = code.read(code.buffer(1, FLOAT32, 64), offset, 4)
    value = code.emit(Op.NEG, FLOAT32.vec(4), (x,))
    code.end(index, code.write(code.buffer(0, FLOAT32, 64), offset, value))
    assert text("llvm", code.program()) == LLVM_HEAD + LLVM_TEXT


def test_opencl_names_a_value_that_is_used_twice(code):
    index = code.special("group0", 4)
    x = code.read(code.buffer(1, FLOAT32, 4), index)
    code.write(code.buffer(0, FLOAT32, 4), index, code.emit(Op.MUL, FLOAT32, (x, x)))
    assert "float read0 = data1[group0];\n  data0[group0] = read0 * read0;" in text(
        "opencl", code.program()
    )


def test_opencl_states_the_size_of_a_group(code):
    local = code.special("local0", 16)
    code.write(code.buffer(0, INT32, 16), local, local)
    assert "__attribute__((reqd_work_group_size(16, 1, 1)))" in text("opencl", code.program())


def test_opencl_asks_for_doubles_where_there_are_any(code):
    code.write(code.buffer(0, FLOAT64, 1), code.const(INT32, 0), code.const(FLOAT64, 0.1))
    assert "cl_khr_fp64" in text("opencl", code.program())


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.NEG])
def test_signed_integers_of_unknown_size_wrap_as_unsigned_ones_in_c(code, op):
    x = code.read(code.buffer(1, INT64, 1), code.const(INT32, 0))
    value = code.emit(op, INT64, (x,) if op is Op.NEG else (x, x))
    code.write(code.buffer(0, INT64, 1), code.const(INT32, 0), value)
    assert "(long)((ulong)" in text("opencl", code.program())


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_no_source_allows_fast_math_or_fusing(code, backend):
    a, b, c = [code.read(code.buffer(1 + i, FLOAT32, 1), code.const(INT32, 0)) for i in range(3)]
    product = code.emit(Op.MUL, FLOAT32, (a, b))
    total = code.emit(Op.ADD, FLOAT32, (product, c))
    code.write(code.buffer(0, FLOAT32, 1), code.const(INT32, 0), total)
    source = text(backend, code.program())
    assert not {"fast", "contract", "reassoc", "fma", "mad"} & set(source.replace("(", " ").split())


TWICE = """
from compiler.backends import arguments_of, find_backend
from compiler.ir import parse_node
from compiler.target import LLVM, OPENCL
import sys
node = parse_node(sys.stdin.read())
for backend, target in (("opencl", OPENCL),):
    print(find_backend(backend).render(node, "k", arguments_of(node), target))
"""


def test_the_text_does_not_depend_on_the_hash_seed(code):
    printed = print_node(row_sum(code))
    texts = {
        subprocess.run(
            [sys.executable, "-c", TWICE],
            input=printed, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(texts) == 1


NATIVE = {
    Op.EXP2: np.exp2, Op.LOG2: np.log2, Op.SIN: np.sin, Op.COS: np.cos, Op.TAN: np.tan,
    Op.TANH: np.tanh, Op.ERF: None, Op.POW: np.power,
}  # fmt: skip


@pytest.mark.parametrize("lanes", [1, 4])
def test_native_functions_are_the_platforms(runner, code, lanes):
    x = np.linspace(0.1, 5, 16)
    cases = [(dtype, op) for dtype in (FLOAT32, FLOAT64) for op in NATIVE]
    index, close = runner.index(code, 16 // lanes)
    offset = code.emit(Op.MUL, INT32, (index, code.const(INT32, lanes)))
    slots = {FLOAT32: len(cases), FLOAT64: len(cases) + 1}
    for slot, (dtype, op) in enumerate(cases):
        value = code.read(code.buffer(slots[dtype], dtype, 16), offset, lanes)
        operands = (value, value) if op is Op.POW else (value,)
        result = code.emit(op, dtype.vec(lanes), operands)
        code.write(code.buffer(slot, dtype, 16), offset, result)
    close()
    inputs = {slots[dtype]: x.astype(dtype.name) for dtype in slots}
    results = runner.run(code.program(), inputs)
    for slot, (dtype, op) in enumerate(cases):
        given = inputs[slots[dtype]]
        function = NATIVE[op] or np.vectorize(math.erf)
        expected = function(given, given) if op is Op.POW else function(given)
        np.testing.assert_allclose(results[slot], expected, rtol=1e-6, err_msg=op.name)


def test_bool_arithmetic_reads_plainly(code):
    index = code.special("group0", 4)
    x = code.read(code.buffer(1, BOOL, 4), index)
    code.write(code.buffer(0, BOOL, 4), index, code.emit(Op.NOT, BOOL, (x,)))
    assert "data0[group0] = !(data1[group0] != 0);" in text("opencl", code.program())
