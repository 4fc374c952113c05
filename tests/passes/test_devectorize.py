"""Targets without vectors of bools."""

import pass_checks as k
import pytest

from compiler.ir import BOOL, Op, loop_parts, toposort
from compiler.target import LLVM, OPENCL

CASES = [
    (k.ROW_MAX, "UPCAST g0 4"),
    (k.ROW_MAX, "UNROLL r0 8"),
    (k.ANY, "UNROLL r0 8; UPCAST g0 2"),
    (k.ANY.replace("op=OR", "op=AND"), "UPCAST g0 4"),
    (k.PADDED_POOL, "UPCAST g1 5"),
]


def has_masks(root):
    return any(node.dtype.count > 1 and node.dtype.scalar is BOOL for node in toposort(root))


@pytest.mark.parametrize(("text", "opts"), CASES)
def test_no_vector_of_bools_is_left(text, opts):
    assert has_masks(k.stages(text, opts, OPENCL)["gates"])
    assert not has_masks(k.stages(text, opts, OPENCL)["devectorize"])


@pytest.mark.parametrize(("text", "opts"), CASES)
def test_a_target_with_vectors_of_bools_keeps_them(text, opts):
    stages = k.stages(text, opts, LLVM)
    assert stages["devectorize"] is stages["gates"]


def test_a_bool_total_of_lanes_becomes_one_total_for_each():
    (loop,) = k.of_op(k.stages(k.ANY, "UNROLL r0 8", OPENCL)["devectorize"], Op.LOOP)
    accumulators = loop_parts(loop)[2]
    assert [acc.dtype for acc in accumulators] == [BOOL] * 8
    assert len({acc.attr[0] for acc in accumulators}) == 8


def test_arithmetic_between_selects_stays_in_vectors():
    text = """
%0 = BUFFER float32 slot=0 size=16
%1 = BUFFER float32 slot=1 size=16
%2 = LOAD float32 %1 view=[(16):(1)]
%3 = CONST float32 value=0x0.0p+0 view=none
%4 = MAX float32 %2 %3
%5 = MUL float32 %4 %4
%6 = STORE void %0 %5 view=[(16):(1)]
%7 = SINK void %6 axes=(g0:16)
"""
    root = k.stages(text, "UPCAST g0 4", OPENCL)["devectorize"]
    assert [node.dtype.count for node in k.of_op(root, Op.MUL) if node.dtype.is_float] == [4]
