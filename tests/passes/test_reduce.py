"""FOLDs as loops: what shares a loop, what gets a copy of one, and how a sum begins."""

import numpy as np
import pass_checks as k
import pytest

from compiler.ir import Op, loop_parts
from compiler.options import CompileOptions, MathOptions
from compiler.target import LLVM

TWICE_OVER_ONE_RANGE = """
%0 = BUFFER float32 slot=0 size=3
%1 = CONST int32 value=3 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = BUFFER float32 slot=1 size=15
%4 = CONST int32 value=5 view=none
%5 = MUL int32 %2 %4
%6 = RANGE int32 %4 name=r0 kind=REDUCE
%7 = ADD int32 %5 %6
%8 = READ float32 %3 %7
%9 = FOLD float32 %8 %6 op=MAX terms=1
%10 = SUB float32 %8 %9
%11 = MUL float32 %10 %10
%12 = FOLD float32 %11 %6 op=ADD terms=1
%13 = WRITE void %0 %2 %12
%14 = SINK void %13 axes=(g0:3)
"""
INNER_SUM_IN_BOTH = """
%0 = BUFFER float32 slot=0 size=3
%1 = CONST int32 value=3 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = BUFFER float32 slot=1 size=60
%4 = CONST int32 value=20 view=none
%5 = MUL int32 %2 %4
%6 = CONST int32 value=5 view=none
%7 = RANGE int32 %6 name=r0 kind=REDUCE
%8 = CONST int32 value=4 view=none
%9 = MUL int32 %7 %8
%10 = ADD int32 %5 %9
%11 = RANGE int32 %8 name=r1 kind=REDUCE
%12 = ADD int32 %10 %11
%13 = READ float32 %3 %12
%14 = FOLD float32 %13 %11 op=ADD terms=1
%15 = FOLD float32 %14 %7 op=MAX terms=1
%16 = SUB float32 %14 %15
%17 = MUL float32 %16 %16
%18 = FOLD float32 %17 %7 op=ADD terms=1
%19 = WRITE void %0 %2 %18
%20 = SINK void %19 axes=(g0:3)
"""


def reduced(text, opts=""):
    return k.stages(text, opts, LLVM)["reduce"]


def loop_names(root):
    loops = k.of_op(root, Op.LOOP)
    return sorted(axis.attr[0] for loop in loops for axis in loop_parts(loop)[0])


def test_independent_folds_over_the_same_ranges_share_a_loop():
    (loop,) = k.of_op(reduced(k.TWO_SUMS), Op.LOOP)
    assert loop.attr == (1, 2)


def test_folds_of_different_outer_loops_do_not_share_one():
    text = """
%0 = BUFFER float32 slot=0 size=3
%1 = CONST int32 value=3 view=none
%2 = RANGE int32 %1 name=g0 kind=GLOBAL
%3 = BUFFER float32 slot=1 size=9
%4 = RANGE int32 %1 name=r0 kind=REDUCE
%5 = READ float32 %3 %4
%6 = FOLD float32 %5 %4 op=ADD terms=1
%7 = MUL int32 %2 %1
%8 = ADD int32 %7 %4
%9 = READ float32 %3 %8
%10 = FOLD float32 %9 %4 op=ADD terms=1
%11 = ADD float32 %6 %10
%12 = WRITE void %0 %2 %11
%13 = SINK void %12 axes=(g0:3)
"""
    root = k.through(k.graph(text), ["reduce"], LLVM)
    assert loop_names(root) == ["r0", "r0#1"]


def test_a_fold_that_needs_another_over_the_same_range_gets_a_copy_of_it():
    root = k.through(k.graph(TWICE_OVER_ONE_RANGE), ["reduce"], LLVM)
    assert loop_names(root) == ["r0", "r0#1"]


@pytest.mark.parametrize("text", [TWICE_OVER_ONE_RANGE, INNER_SUM_IN_BOTH])
def test_copies_of_loops_compute_the_same(text):
    root = k.graph(text)
    buffers = k.random_inputs(root)
    expected = k.outputs(root, buffers)[0]
    for stage in k.run_pipeline(root, LLVM):
        k.assert_close(k.outputs(stage.node, buffers)[0], expected, stage.name)


def test_a_loop_inside_a_copied_loop_is_copied_with_it():
    root = k.through(k.graph(INNER_SUM_IN_BOTH), ["reduce"], LLVM)
    assert loop_names(root) == ["r0", "r0#1", "r1", "r1#1"]


def test_a_fold_without_ranges_is_a_chain():
    root = reduced(k.COLUMN_SUM, "UNROLL r0 24")
    assert not k.of_op(root, Op.LOOP)
    assert k.count(root, Op.ADD) >= 23


@pytest.mark.parametrize("op", ["ADD", "MUL", "MAX", "MIN"])
def test_an_accumulator_starts_with_the_value_that_changes_nothing(op):
    text = k.ROW_SUM.replace("op=ADD", f"op={op}")
    (loop,) = k.of_op(reduced(text), Op.LOOP)
    expected = {"ADD": "-0x0.0p+0", "MUL": "0x1.0000000000000p+0", "MAX": "-inf", "MIN": "inf"}
    assert loop_parts(loop)[1][0].value.hex() == expected[op]


def test_a_sum_of_negative_zeros_is_negative_zero_unrolled_or_not():
    buffers = {0: np.zeros(12, np.float32), 1: np.full(288, -0.0, np.float32)}
    for opts in ("", "UNROLL r0 4", "UNROLL r0 24"):
        found = k.outputs(k.stages(k.ROW_SUM, opts, LLVM)["linearize"], buffers)[0]
        assert np.signbit(found).all(), opts


def test_only_products_that_are_summed_are_fused():
    assert k.count(reduced(k.MATMUL), Op.MULACC) == 1
    assert k.count(reduced(k.TWO_SUMS), Op.MULACC) == 1
    assert k.count(reduced(k.ROW_SUM), Op.MULACC) == 0
    assert k.count(reduced(k.MATMUL.replace("op=ADD", "op=MAX")), Op.MULACC) == 0


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
def test_products_of_integers_and_halves_are_not_fused(dtype):
    assert k.count(reduced(k.MATMUL.replace("float32", dtype)), Op.MULACC) == 0


def test_fusing_can_be_switched_off():
    options = CompileOptions(math=MathOptions(fma=False))
    assert k.count(k.stages(k.MATMUL, "", LLVM, options)["reduce"], Op.MULACC) == 0
