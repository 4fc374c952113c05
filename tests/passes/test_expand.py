"""Lanes: which accesses become vectors, and that sums do not depend on the width of vectors."""

from dataclasses import replace

import numpy as np
import pass_checks as k
import pytest

from compiler.errors import VerifyError
from compiler.ir import FLOAT32, INT32, AxisKind, Op
from compiler.target import LLVM, OPENCL

NARROW = replace(LLVM, capabilities=replace(LLVM.capabilities, vector_widths=(4, 2)))
SCALAR = replace(LLVM, capabilities=replace(LLVM.capabilities, vector_widths=()))


def expanded(text, opts, target=LLVM):
    return k.stages(text, opts, target)["expand"]


def widths(root, op):
    """The lanes of each READ, or of the value of each WRITE."""
    found = k.of_op(root, op)
    return sorted((n.src[2] if op is Op.WRITE else n).dtype.count for n in found)


def test_contiguous_lanes_are_read_and_written_as_vectors():
    root = expanded(k.TWO_OUTPUTS, "UPCAST g1 6")
    assert widths(root, Op.READ) == [2, 4]


def test_lanes_that_do_not_change_an_element_read_it_once():
    root = expanded(k.MATMUL, "UPCAST g1 4")
    assert widths(root, Op.READ) == [1, 4]
    assert k.count(root, Op.SPLAT) == 1


def test_lanes_that_go_backwards_are_read_one_by_one():
    root = expanded(k.REVERSED_ROWS, "UPCAST g0 4")
    assert widths(root, Op.READ) == [1, 1, 1, 1]
    assert widths(root, Op.WRITE) == [1, 1, 1, 1]


def test_rows_of_a_view_that_is_not_affine_are_vectors_where_they_stay_neighbours():
    text = k.REVERSED_ROWS.replace("(4,6):(-6,1)+18", "(4,6):(6,1)?(0:4,0:3)")
    root = expanded(text, "UPCAST g1 3")
    assert widths(root, Op.READ) == [1, 2]


def test_lanes_with_gates_of_their_own_are_read_one_by_one_on_targets_without_masks():
    root = expanded(k.PADDED_POOL, "UPCAST g1 5", OPENCL)
    assert widths(root, Op.READ) == [1] * 5


def test_lanes_with_gates_of_their_own_are_a_vector_under_a_mask():
    root = expanded(k.PADDED_POOL, "UPCAST g1 5")
    assert [(r.dtype.count, r.src[2].dtype.count) for r in k.of_op(root, Op.READ)] == [
        (4, 4),
        (1, 1),
    ]


def test_padded_lanes_are_written_under_a_mask():
    root = expanded(k.MATMUL, "PADTO g1 16; UPCAST g1 16")
    assert [w.src[3].dtype.count for w in k.of_op(root, Op.WRITE)] == [16]


def test_lanes_under_one_gate_are_read_as_a_vector():
    text = """
%0 = BUFFER float32 slot=0 size=32
%1 = BUFFER float32 slot=1 size=24
%2 = LOAD float32 %1 view=[(4,8):(8,1)?(0:3,0:8)]
%3 = STORE void %0 %2 view=[(4,8):(1,4)]
%4 = SINK void %3 axes=(g0:4,g1:8)
"""
    (read,) = k.of_op(expanded(text, "UPCAST g1 4"), Op.READ)
    assert (read.dtype.count, len(read.src)) == (4, 3)


@pytest.mark.parametrize(("size", "expected"), [(7, [1, 2, 4]), (24, [8, 16]), (3, [1, 2])])
def test_a_lane_axis_is_cut_into_the_widest_vectors_that_fit(size, expected):
    text = f"""
%0 = BUFFER float32 slot=0 size={size * 4}
%1 = BUFFER float32 slot=1 size={size * 4}
%2 = LOAD float32 %1 view=[(4,{size}):(1,4)]
%3 = STORE void %0 %2 view=[(4,{size}):({size},1)]
%4 = SINK void %3 axes=(g0:4,g1:{size})
"""
    assert widths(expanded(text, f"UPCAST g1 {size}"), Op.WRITE) == expected


def test_the_vector_axis_is_the_one_with_most_contiguous_accesses():
    folds = k.of_op(expanded(k.MATMUL, "UPCAST g0 4; UPCAST g1 4; UNROLL r0 4"), Op.FOLD)
    assert [fold.dtype for fold in folds] == [FLOAT32.vec(4)] * 4
    assert all(fold.attr[1] == 4 for fold in folds)  # the unrolled terms of each


def test_lanes_under_masks_are_vectors_rather_than_lanes_that_jump():
    """A column of each row is read along g0, and only the stored row is padded."""
    text = """
%0 = BUFFER float32 slot=0 size=80
%1 = BUFFER float32 slot=1 size=80
%2 = LOAD float32 %1 view=[(8,10):(10,1)]
%3 = BUFFER float32 slot=2 size=8
%4 = LOAD float32 %3 view=[(8,10):(1,0)]
%5 = ADD float32 %2 %4
%6 = STORE void %0 %5 view=[(8,10):(10,1)]
%7 = SINK void %6 axes=(g0:8,g1:10)
"""
    root = expanded(text, "PADTO g1 16; UPCAST g1 16; UPCAST g0 4")
    assert widths(root, Op.WRITE) == [16] * 4
    assert not k.count(root, Op.SHUFFLE)


def test_a_contiguous_reduce_axis_keeps_one_total_for_each_lane():
    root = expanded(k.ROW_SUM, "UNROLL r0 4")
    (totals,) = k.of_op(root, Op.FOLD)
    assert totals.dtype is FLOAT32.vec(4)
    assert [(n.src[0], n.attr[0]) for n in k.of_op(root, Op.SHUFFLE)] == [
        (totals, (0, 1)),
        (totals, (2, 3)),
    ]
    (halves,) = [n for n in k.of_op(root, Op.ADD) if n.dtype is FLOAT32.vec(2)]
    assert [(n.src[0], n.attr[0]) for n in k.of_op(root, Op.LANE)] == [(halves, 0), (halves, 1)]


@pytest.mark.parametrize("target", [LLVM, NARROW, SCALAR])
def test_lanes_are_added_halves_onto_halves_whatever_the_width_of_vectors(target):
    text = k.ROW_SUM.replace("24", "7").replace("288", "84")
    values = np.float32([1e8, 3, -1e8, 5, 1e-3, 7e6, 2.5] * 12)
    a = values[:7]
    expected = (((a[0] + a[2]) + (a[1] + a[3])) + (a[4] + a[5])) + a[6]
    root = k.stages(text, "UNROLL r0 7", target)["linearize"]
    assert k.outputs(root, {0: np.zeros(12, np.float32), 1: values})[0].tolist() == [expected] * 12


def test_a_transpose_reads_and_writes_vectors_and_turns_blocks_in_registers():
    root = expanded(k.TRANSPOSE, "UPCAST g0 2; UPCAST g1 4")
    assert widths(root, Op.READ) == [2, 2, 2, 2]  # along g0, where the source has its rows
    assert widths(root, Op.WRITE) == [4, 4]
    assert k.count(root, Op.SHUFFLE) == 6  # pairs become rows, and these change places twice


def test_lanes_of_a_block_under_another_gate_are_a_block_of_their_own():
    root = expanded(k.TRANSPOSE, "PADTO g0 8; UPCAST g0 8; UPCAST g1 8")
    reads = k.of_op(root, Op.READ)
    assert {len(read.src) for read in reads} == {3}
    assert {read.dtype.count for read in reads} == {2, 4}


@pytest.mark.parametrize(
    ("text", "opts"),
    [
        (k.ROW_SUM, "UNROLL r0 12"),
        (k.ROW_SUM, "UNROLL r0 6; UPCAST g0 4"),
        (k.MATMUL, "UPCAST g1 12; UNROLL r0 4"),
        (k.COLUMN_SUM, "UPCAST g0 12; UNROLL r0 6"),
    ],
)
def test_the_width_of_vectors_does_not_change_a_bit(text, opts):
    buffers = k.random_inputs(k.ast(text))
    results = [
        k.outputs(k.stages(text, opts, target)["linearize"], buffers)[0].tobytes()
        for target in (LLVM, NARROW, SCALAR)
    ]
    assert results[0] == results[1] == results[2]


def test_what_does_not_depend_on_a_lane_is_computed_once():
    text = k.TWO_OUTPUTS.replace("(6,1)]\n%3", "(6,0)]\n%3")
    products = k.of_op(expanded(text, "UPCAST g1 6"), Op.MUL)
    assert [node.dtype for node in products if node.dtype.is_float] == [FLOAT32]


def test_a_value_made_of_the_lane_index_is_a_vector():
    text = """
%0 = BUFFER int32 slot=0 size=4
%1 = CONST int32 value=4 view=none
%2 = RANGE int32 %1 name=g0 kind=UPCAST
%3 = MUL int32 %2 %2
%4 = WRITE void %0 %2 %3
%5 = SINK void %4 axes=()
"""
    root = k.through(k.graph(text), ["expand"], LLVM)
    assert k.outputs(root, {0: np.zeros(4, np.int32)})[0].tolist() == [0, 1, 4, 9]
    assert k.of_op(root, Op.WRITE)[0].src[2].dtype is INT32.vec(4)


def test_a_read_at_an_offset_that_was_read_is_made_for_each_lane():
    text = """
%0 = BUFFER float32 slot=0 size=4
%1 = CONST int32 value=4 view=none
%2 = RANGE int32 %1 name=g0 kind=UPCAST
%3 = BUFFER float32 slot=1 size=9
%4 = BUFFER int32 slot=2 size=4
%5 = READ int32 %4 %2
%6 = READ float32 %3 %5
%7 = WRITE void %0 %2 %6
%8 = SINK void %7 axes=()
"""
    root = k.through(k.graph(text), ["expand"], LLVM)
    table = np.arange(9, dtype=np.float32)
    buffers = {0: np.zeros(4, np.float32), 1: table, 2: np.array([8, 1, 0, 5], np.int32)}
    assert k.outputs(root, buffers)[0].tolist() == [8, 1, 0, 5]


def test_a_symbolic_lane_axis_is_refused():
    text = """
%0 = BUFFER int32 slot=0 size=4
%1 = VAR int32 name=n lo=1 hi=4
%2 = RANGE int32 %1 name=g0 kind=UPCAST
%3 = WRITE void %0 %2 %2
%4 = SINK void %3 axes=()
"""
    with pytest.raises(VerifyError, match=r"pass expand: .*not a number"):
        k.run_pipeline(k.graph(text), LLVM)


def test_no_lane_range_is_left():
    root = expanded(k.MATMUL, "UPCAST g1 4; UNROLL r0 4")
    kinds = {node.attr[1] for node in k.of_op(root, Op.RANGE)}
    assert kinds == {AxisKind.GLOBAL, AxisKind.REDUCE}


def test_of_equal_axes_the_one_with_more_elements_becomes_vectors():
    text = """
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=16384
%2 = LOAD float32 %1 view=[(64,256):(256,1)]
%3 = BUFFER float32 slot=2 size=64
%4 = LOAD float32 %3 view=[(64,256):(1,0)]
%5 = SUB float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(64,256):(1,0)]
%8 = SINK void %7 axes=(g0:64,r0:256)
"""
    root = expanded(text, "UPCAST g0 4; UNROLL r0 16")
    assert widths(root, Op.READ) == [1] * 4 + [16] * 4  # rows are read along r0


def test_lanes_of_all_loops_along_a_row_are_vectors():
    root = expanded(k.ROWS, "UNROLL r0 4; UNROLL r1 4; UPCAST g1 4")
    assert widths(root, Op.READ) == [4, 4, 4]
    assert widths(root, Op.WRITE) == [4]


def test_lanes_of_other_sizes_are_not_joined():
    root = expanded(k.ROWS, "UNROLL r0 2; UNROLL r1 4; UPCAST g1 4")
    assert widths(root, Op.READ) == [1, 1, 4, 4]


def test_lanes_that_meet_are_not_joined():
    root = expanded(k.MATMUL, "UPCAST g0 4; UPCAST g1 4")
    assert widths(root, Op.READ) == [1, 1, 1, 1, 4]


@pytest.mark.parametrize(
    "opts",
    [
        "",
        "UNROLL r0 4; UNROLL r1 4; UPCAST g1 4",
        "UNROLL r0 8; UNROLL r1 8; UPCAST g1 8; UPCAST g0 3",
        "UNROLL r0 4; UNROLL r1 2; UPCAST g1 4",
        "UPCAST g1 4; SWAP g0 g1.o",
        "PADTO r0 3; UNROLL r0 3; UPCAST g0 3",
    ],
)
@pytest.mark.parametrize("target", [LLVM, OPENCL], ids=["llvm", "opencl"])
def test_rows_are_right_at_every_stage(opts, target):
    k.assert_stages_compute(k.ROWS, opts, target)
