"""Parallel loops as hardware indices."""

import pass_checks as k
import pytest

from compiler.backends import launch_of
from compiler.errors import VerifyError
from compiler.ir import AxisKind, Op
from compiler.target import LLVM, OPENCL

FIVE_AXES = """
%0 = BUFFER float32 slot=0 size=360
%1 = BUFFER float32 slot=1 size=360
%2 = LOAD float32 %1 view=[(2,3,4,3,5):(1,2,6,24,72)]
%3 = STORE void %0 %2 view=[(2,3,4,3,5):(180,60,15,5,1)]
%4 = SINK void %3 axes=(g0:2,g1:3,g2:4,g3:3,g4:5)
"""


def specials(root):
    found = {node.attr[0]: node.src[0].value for node in k.of_op(root, Op.SPECIAL)}
    return dict(sorted(found.items()))


def test_the_innermost_axis_is_dimension_0():
    assert specials(k.stages(k.TRANSPOSE, "", OPENCL)["threads"]) == {"group0": 8, "group1": 6}


def test_local_and_group_axes_are_local_indices():
    root = k.stages(k.ROW_SUM, "LOCAL g0 4; GROUP r0 8", OPENCL)["threads"]
    assert specials(root) == {"group0": 3, "local0": 8, "local1": 4}


def test_more_axes_than_dimensions_share_the_last():
    root = k.stages(FIVE_AXES, "", OPENCL)["threads"]
    assert specials(root) == {"group0": 5, "group1": 3, "group2": 24}
    k.assert_stages_compute(FIVE_AXES, "", OPENCL)


def test_swapped_axes_exchange_dimensions():
    root = k.stages(k.TRANSPOSE, "SWAP g0 g1", OPENCL)["threads"]
    assert specials(root) == {"group0": 6, "group1": 8}


def test_a_target_without_groups_keeps_its_loops():
    root = k.stages(k.TRANSPOSE, "", LLVM)["threads"]
    assert not k.of_op(root, Op.SPECIAL)


def test_a_target_without_groups_refuses_local_axes():
    root = k.nodes(k.TRANSPOSE, "LOCAL g0 2", OPENCL)
    with pytest.raises(VerifyError, match=r"pass threads: .*has no work-groups"):
        k.run_pipeline(root, LLVM)


def test_a_launch_counts_the_items_of_all_groups():
    launch = launch_of(k.stages(k.ROW_SUM, "LOCAL g0 4; GROUP r0 8", OPENCL)["linearize"])
    assert (launch.global_size, launch.local_size) == ((24, 4), (8, 4))


def test_a_symbolic_launch_has_a_symbolic_size():
    launch = launch_of(k.stages(k.SYMBOLIC, "", OPENCL)["linearize"])
    assert launch.global_size[0] == 8
    assert {node.op for node in k.toposort(launch.global_size[1])} >= {Op.VAR}


def test_the_outermost_global_loop_is_what_threads_share():
    launch = launch_of(k.stages(k.TRANSPOSE, "", LLVM)["linearize"])
    assert launch.global_size == (6,)
    kinds = [n.attr[1] for n in k.of_op(k.stages(k.TRANSPOSE, "", LLVM)["linearize"], Op.RANGE)]
    assert kinds == [AxisKind.GLOBAL, AxisKind.GLOBAL]
