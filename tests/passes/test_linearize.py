"""The order of instructions: loops, what is hoisted, branches, and updates in place."""

import numpy as np
import pass_checks as k
import pytest

from compiler.ir import Op
from compiler.target import LLVM, OPENCL

IN_PLACE = """
%0 = BUFFER float32 slot=0 size=8
%1 = LOAD float32 %0 view=[(8):(-1)+7]
%2 = LOAD float32 %0 view=[(8):(1)]
%3 = ADD float32 %1 %2
%4 = STORE void %0 %3 view=[(8):(1)]
%5 = SINK void %4 axes=(g0:8)
"""
TWO_PADDED = """
%0 = BUFFER float32 slot=0 size=20
%1 = BUFFER float32 slot=2 size=20
%2 = LOAD float32 %1 view=[(4,5):(5,1)]
%3 = NEG float32 %2
%4 = STORE void %0 %3 view=[(4,5):(5,1)]
%5 = BUFFER float32 slot=1 size=20
%6 = ADD float32 %2 %2
%7 = STORE void %5 %6 view=[(4,5):(1,4)]
%8 = SINK void %4 %7 axes=(g0:4,g1:5)
"""


def program(text, opts="", target=LLVM):
    return k.stages(text, opts, target)["linearize"]


def depth_of(node_list, wanted):
    """How many loops are open at the first instruction for which `wanted` holds."""
    depth = 0
    for node in node_list:
        if wanted(node):
            return depth
        closed = node.attr[0] if node.op is Op.LOOP else int(node.op is Op.END)
        depth += (node.op is Op.RANGE) - closed
    raise AssertionError("no such instruction")


def loops(node_list):
    return [node.attr[0] for node in node_list if node.op is Op.RANGE]


def test_leaves_come_first():
    leaves = (Op.CONST, Op.BUFFER, Op.VAR, Op.LOCAL)
    kinds = [node.op in leaves for node in program(k.MATMUL, "UPCAST g1 4").src]
    assert kinds == sorted(kinds, reverse=True)


def test_loops_nest_in_the_order_of_the_kernel():
    assert loops(program(k.MATMUL).src) == ["g0", "g1", "r0"]
    assert loops(program(k.MATMUL, "SWAP g0 g1").src) == ["g1", "g0", "r0"]


def test_what_a_loop_does_not_change_is_outside_of_it():
    source = program(k.VARIANCE).src
    assert depth_of(source, lambda node: node.op is Op.RESULT) == 1
    assert loops(source) == ["g0", "r0", "r1"]


def test_a_reduce_that_no_output_axis_changes_runs_once():
    text = """
%0 = BUFFER float32 slot=0 size=6
%1 = BUFFER float32 slot=2 size=6
%2 = LOAD float32 %1 view=[(6,4):(1,0)]
%3 = BUFFER float32 slot=1 size=4
%4 = LOAD float32 %3 view=[(6,4):(0,1)]
%5 = REDUCE float32 %4 op=ADD axes=(r0)
%6 = MUL float32 %2 %5
%7 = STORE void %0 %6 view=[(6,4):(1,0)]
%8 = SINK void %7 axes=(g0:6,r0:4)
"""
    assert loops(program(text).src) == ["r0", "g0"]


def test_neighbouring_stores_under_one_gate_share_a_branch():
    source = program(k.COLUMN_SUM, "GROUP r0 8; UPCAST g0 2; UPCAST g0.o 2", OPENCL).src
    assert [node.op for node in source if node.op in (Op.IF, Op.ENDIF)] == [Op.IF, Op.ENDIF]


def test_stores_under_different_gates_have_branches_of_their_own():
    source = program(TWO_PADDED, "PADTO g0 3; PADTO g1 4; UPCAST g1 4").src
    assert sum(node.op is Op.IF for node in source) >= 2
    k.assert_stages_compute(TWO_PADDED, "PADTO g0 3; PADTO g1 4; UPCAST g1 4", LLVM)


def test_one_store_under_two_gates_stands_twice():
    text = """
%0 = BUFFER int8 slot=0 size=6
%1 = CONST int8 value=-1 view=none
%2 = STORE void %0 %1 view=[(6,3):(1,0)]
%3 = SINK void %2 axes=(g0:6,g1:3)
"""
    k.assert_stages_compute(text, "PADTO g1 8; UPCAST g1 8", OPENCL)


def test_stores_keep_the_order_of_the_kernel():
    buffers = [node.src[0].attr[0] for node in program(k.TWO_OUTPUTS).src if node.op is Op.WRITE]
    assert buffers == [0, 1]


@pytest.mark.parametrize("opts", ["UPCAST g0 8"])
def test_elements_of_a_buffer_that_is_written_too_are_read_first(opts):
    source = program(IN_PLACE, opts).src
    last_read = max(index for index, node in enumerate(source) if node.op is Op.READ)
    first_write = min(index for index, node in enumerate(source) if node.op is Op.WRITE)
    assert last_read < first_write
    values = np.arange(8, dtype=np.float32)
    found = k.outputs(program(IN_PLACE, opts), {0: values})[0]
    assert found.tolist() == [7.0] * 8


def test_instructions_grow_linearly_with_lanes():
    four, eight = (len(program(k.MATMUL, f"UPCAST g0 {n}; UPCAST g1 4").src) for n in (4, 8))
    assert eight < 2.1 * four


def test_a_deep_chain_of_operations_is_no_problem():
    lines = ["%0 = BUFFER float32 slot=0 size=4", "%1 = BUFFER float32 slot=1 size=4"]
    lines.append("%2 = LOAD float32 %1 view=[(4):(1)]")
    lines += [f"%{n} = ADD float32 %{n - 1} %{n - 1}" for n in range(3, 3000)]
    lines += ["%3000 = STORE void %0 %2999 view=[(4):(1)]", "%3001 = SINK void %3000 axes=(g0:4)"]
    assert len(program("\n" + "\n".join(lines) + "\n", "UPCAST g0 4").src) > 2997


def test_the_totals_of_a_loop_advance_side_by_side():
    source = program(k.MATMUL, "UPCAST g0 4; UPCAST g1 4; UNROLL r0 4").src
    kinds = [node.op for node in source if node.op is Op.MULACC or node.op is Op.READ]
    assert kinds[:6] == [Op.READ] * 2 + [Op.MULACC] + [Op.READ, Op.MULACC, Op.READ]
    reads = [index for index, node in enumerate(source) if node.op is Op.READ]
    steps = [index for index, node in enumerate(source) if node.op is Op.MULACC]
    assert reads[-1] > steps[11]  # the last element is read when three of four steps are done
