"""Accesses are inside their buffers: proven, guarded, or refused."""

import numpy as np
import pass_checks as k
import pytest

from compiler.errors import VerifyError
from compiler.ir import FLOAT32, Op, bounds, toposort
from compiler.target import LLVM

PAST_THE_END = """
%0 = BUFFER float32 slot=0 size=4
%1 = CONST int32 value=4 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = BUFFER float32 slot=1 size=4
%4 = ADD int32 %2 %1
%5 = READ float32 %3 %4
%6 = WRITE void %0 %2 %5
%7 = SINK void %6 axes=(g0:4)
"""
GATHER = """
%0 = BUFFER float32 slot=0 size=4
%1 = CONST int32 value=4 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = BUFFER float32 slot=1 size=9
%4 = BUFFER int32 slot=2 size=4
%5 = READ int32 %4 %2
%6 = READ float32 %3 %5
%7 = WRITE void %0 %2 %6
%8 = SINK void %7 axes=(g0:4)
"""
SHORT_ROW = """
%0 = BUFFER float32 slot=0 size=16
%1 = CONST int32 value=4 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = MUL int32 %2 %1
%4 = BUFFER float32 slot=1 size=3
%5 = CONST int32 value=1 view=none
%6 = LT bool %2 %5
%7 = READ float32x4 %4 %3 %6
%8 = WRITE void %0 %3 %7
%9 = SINK void %8 axes=(g0:4)
"""


def gated(text, opts=""):
    return k.stages(text, opts, LLVM)["gates"]


def test_no_read_keeps_its_gate():
    for text, opts in ((k.PADDED_POOL, ""), (k.MATMUL, "PADTO g1 16")):
        assert all(len(read.src) == 2 for read in k.of_op(gated(text, opts), Op.READ))


def test_a_padded_read_stays_inside_its_buffer_whatever_the_gate_says():
    for read in k.of_op(gated(k.PADDED_POOL, "UPCAST g0 5"), Op.READ):
        buffer, offset = read.src
        chosen = [node for node in toposort(offset) if node.op is Op.WHERE]
        low, high = bounds(offset)
        assert low >= 0 or chosen
        assert high + read.dtype.count <= buffer.attr[1] or chosen


def test_a_mask_guards_each_lane_of_a_read():
    reads = k.of_op(gated(k.PADDED_POOL, "UPCAST g1 5"), Op.READ)
    assert [len(read.src) for read in reads if read.dtype.count > 1] == [3]


def test_what_the_gate_of_a_read_depends_on_is_chosen_outside_of_other_loops():
    root = gated(k.MATMUL, "PADTO g0 3")
    (choice,) = [node for node in toposort(root) if node.op is Op.WHERE]
    assert [n.attr[0] for n in toposort(choice) if n.op is Op.RANGE] == ["g0"]


def test_what_only_a_gated_write_needs_is_not_replaced_by_zero():
    root = gated(k.MATMUL, "PADTO g0 3")
    assert all(n.dtype is not FLOAT32 for n in toposort(root) if n.op is Op.WHERE)


def test_what_is_written_without_the_gate_is_zero_where_it_does_not_hold():
    root = gated(k.MATMUL, "PADTO r0 3")  # padding in a sum: every output needs the identity
    assert any(n.dtype is FLOAT32 for n in toposort(root) if n.op is Op.WHERE)


def test_a_proven_access_is_left_alone():
    before = k.stages(k.MATMUL, "UPCAST g1 4", LLVM)["threads"]
    assert k.through(before, ["gates"], LLVM) is before


def test_an_access_that_is_always_outside_is_an_error_that_names_it():
    with pytest.raises(VerifyError, match=r"pass gates: <READ float32.*elements 4 to 7 of 4"):
        k.run_pipeline(k.graph(PAST_THE_END), LLVM)


def test_an_access_that_cannot_be_proven_is_guarded():
    root = k.through(k.graph(GATHER), ["gates"], LLVM)
    buffers = {
        0: np.zeros(4, np.float32),
        1: np.arange(9, dtype=np.float32),
        2: np.array([-1, 8, 9, 3], np.int32),
    }
    assert k.outputs(root, buffers)[0].tolist() == [0, 8, 0, 3]


def test_a_vector_wider_than_its_buffer_is_read_lane_by_lane():
    root = k.through(k.graph(SHORT_ROW), ["gates"], LLVM)
    assert {read.dtype.count for read in k.of_op(root, Op.READ)} == {1}


def test_a_store_that_is_always_allowed_has_no_branch():
    assert Op.IF not in k.ops(k.stages(k.MATMUL, "UPCAST g1 4", LLVM)["linearize"])


def test_padding_of_whole_vectors_keeps_vectors():
    reads = k.of_op(k.stages(k.MATMUL, "PADTO g1 16; UPCAST g1 4", LLVM)["linearize"], Op.READ)
    assert sorted(read.dtype.count for read in reads) == [1, 4]


@pytest.mark.parametrize("opts", ["", "UPCAST g1 4"])
def test_symbolic_accesses_are_proven_not_guarded(opts):
    program = k.stages(k.SYMBOLIC, opts, LLVM)["linearize"]
    assert not {Op.IF, Op.WHERE, Op.LE} & set(k.ops(program))


def test_a_symbolic_buffer_that_is_one_too_short_is_guarded():
    text = k.SYMBOLIC.replace("(%0,8):(8,1)]\n%7", "(%0,8):(8,1)+1]\n%7")
    text = text.replace(
        "%5 = LOAD float32 %4 view=[(%0,8):(8,1)]", "%5 = LOAD float32 %4 view=[(%0,8):(8,1)+1]"
    )
    program = k.stages(text, "", LLVM)["linearize"]
    assert Op.LE in k.ops(program)
