"""Reduces shared by a work-group: local memory, barriers, and who stores."""

import pass_checks as k
import pytest

from compiler.errors import VerifyError
from compiler.ir import AxisKind, Op
from compiler.target import LLVM, OPENCL


def grouped(text, opts):
    return k.stages(text, opts, OPENCL)["group"]


def test_the_parts_meet_in_local_memory_behind_a_barrier():  # row 80
    root = grouped(k.ROW_SUM, "GROUP r0 8")
    (memory,) = k.of_op(root, Op.LOCAL)
    (barrier,) = k.of_op(root, Op.BARRIER)
    assert memory.attr == ("temp0", 8)
    assert barrier.src[0].op is Op.WRITE
    (arrived,) = k.of_op(root, Op.AFTER)
    assert arrived.src == (memory, barrier)


def test_each_item_folds_its_own_terms_and_then_those_of_all():  # row 77
    root = grouped(k.ROW_SUM, "GROUP r0 4; UNROLL r0.o 2; LOCAL g0 3")
    own, all_items = k.of_op(root, Op.FOLD)
    assert [axis.attr[0] for axis in own.src[1:]] == ["r0.o.o", "r0.o.i"]
    assert [(axis.attr[0], axis.src[0].value) for axis in all_items.src[1:]] == [("r0.i#all", 4)]


def test_every_work_item_and_output_lane_has_a_slot():
    (memory,) = k.of_op(grouped(k.ROW_SUM, "LOCAL g0 2; GROUP r0 4; UPCAST g0.o 3"), Op.LOCAL)
    assert memory.attr[1] == 2 * 4 * 3


def test_only_the_first_item_of_a_group_stores():
    root = grouped(k.VARIANCE, "GROUP r0 4; GROUP r1 2")
    outputs = [node for node in k.of_op(root, Op.WRITE) if node.src[0].op is Op.BUFFER]
    assert len(outputs) == 1
    gate = outputs[0].src[3]
    ranges = [node.attr[1] for node in k.toposort(gate) if node.op is Op.RANGE]
    assert ranges == [AxisKind.GROUP, AxisKind.GROUP]


def test_a_store_that_was_gated_stays_so():
    text = k.ROW_SUM.replace("(12,24):(1,0)]", "(12,24):(1,0)?(0:11,0:24)]")
    k.assert_stages_compute(text, "GROUP r0 8", OPENCL)


def test_parts_that_are_rewritten_in_a_loop_wait_for_their_readers():
    assert k.count(grouped(k.NESTED, "GROUP r1 2"), Op.BARRIER) == 2
    assert k.count(grouped(k.ROW_SUM, "GROUP r0 8"), Op.BARRIER) == 1


def test_each_grouped_fold_has_memory_of_its_own():  # row 81
    memories = k.of_op(grouped(k.VARIANCE, "GROUP r0 4; GROUP r1 2"), Op.LOCAL)
    assert sorted(memory.attr[0] for memory in memories) == ["temp0", "temp1"]


def test_what_one_grouped_fold_gives_is_seen_by_every_item_of_the_next():  # row 81
    for opts in ("GROUP r0 4; GROUP r1 2", "GROUPTOP r0 2; GROUP r1 4; UPCAST g0 3"):
        k.assert_stages_compute(k.VARIANCE, opts, OPENCL)


def test_a_target_without_groups_refuses_them():
    root = k.nodes(k.ROW_SUM, "GROUP r0 8", OPENCL)
    with pytest.raises(VerifyError, match=r"pass group: .*has no work-groups"):
        k.run_pipeline(root, LLVM)


def test_no_barrier_is_inside_a_branch():
    for text, opts in ((k.NESTED, "GROUP r0 2; GROUP r1 2"), (k.VARIANCE, "GROUP r1 4")):
        program = k.stages(text, opts, OPENCL)["linearize"]
        depth = 0
        for node in program.src:
            depth += (node.op is Op.IF) - (node.op is Op.ENDIF)
            assert not (node.op is Op.BARRIER and depth)
