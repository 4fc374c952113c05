"""KEEP: terms of a sum in local memory, read again along the row, and that nothing else changes."""

import pass_checks as k
import pytest

from compiler.ir import Op
from compiler.target import LLVM

POWERS = """
%0 = BUFFER float32 slot=0 size=96
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(12,8,8,8):(8,1,0,0)]
%3 = LOAD float32 %1 view=[(12,8,8,8):(8,0,1,0)]
%4 = REDUCE float32 %3 op=MAX axes=(r0)
%5 = SUB float32 %2 %4
%6 = EXP2 float32 %5
%7 = LOAD float32 %1 view=[(12,8,8,8):(8,0,0,1)]
%8 = SUB float32 %7 %4
%9 = EXP2 float32 %8
%10 = REDUCE float32 %9 op=ADD axes=(r1)
%11 = FDIV float32 %6 %10
%12 = STORE void %0 %11 view=[(12,8,8,8):(8,1,0,0)]
%13 = SINK void %12 axes=(g0:12,g1:8,r0:8,r1:8)
"""
SCHEDULES = [
    "KEEP r1",
    "KEEP r1; UNROLL r0 4; UNROLL r1 4; UPCAST g1 4",
    "KEEP r1; UNROLL r0 8; UNROLL r1 8; UPCAST g1 8; UPCAST g0 3",
    "KEEP r1; UNROLL r1 2; UPCAST g1 4; UPCAST g0 2",
    "UNROLL r1 4; UPCAST g0 4; KEEP r1.o",
    "KEEP r1; SWAP g0 g1",
    "KEEP r1; PADTO g0 5; UPCAST g0 5",
    "KEEP r1; LDS 1",
]


@pytest.mark.parametrize("opts", SCHEDULES)
def test_kept_rows_are_right_at_every_stage(opts):
    k.assert_stages_compute(POWERS, opts, LLVM)


def test_a_function_of_a_kept_row_is_computed_once():
    def functions(opts):
        return k.count(k.nodes(POWERS, opts, LLVM), Op.EXP2)

    assert functions("") == 2
    assert functions("KEEP r1") == 1


def test_a_row_is_held_for_each_lane_of_the_rows():
    (array,) = k.of_op(k.nodes(POWERS, "KEEP r1; UPCAST g0 3", LLVM), Op.LOCAL)
    assert array.attr == ("kept.r1", 24)


def test_lanes_of_a_kept_row_are_written_and_read_as_vectors():
    root = k.stages(POWERS, "KEEP r1; UNROLL r1 4; UPCAST g1 4; UNROLL r0 4", LLVM)["expand"]
    assert sorted(node.dtype.count for node in k.of_op(root, Op.READ)) == [4] * 4
    assert [node.src[2].dtype.count for node in k.of_op(root, Op.WRITE)] == [4, 4]
