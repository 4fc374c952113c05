"""LDS: panels in local memory, who fills them, and that nothing else changes."""

from dataclasses import replace

import numpy as np
import pass_checks as k
import pytest

from compiler import compile_kernel, open_device
from compiler.ir import Op, toposort
from compiler.kernel import parse_opts
from compiler.options import DEFAULT
from compiler.target import LLVM, OPENCL

CPU = [
    "LDS 2",
    "LDS 1; LDS 2",
    "UPCAST g0 4; UPCAST g1 4; LDS 2",
    "UPCAST g0 4; UPCAST g1 4; SWAP g0.o g1.o; LDS 2; LDS 1",
    "PADTO g1 16; UPCAST g1 16; PADTO g0 3; UPCAST g0 3; LDS 2; LDS 1",
    "PADTO r0 6; UNROLL r0 6; UPCAST g1 4; LDS 1; LDS 2",
]
GROUPS = [
    "LOCAL g0 4; LDS 1",
    "LOCAL g0 2; LOCAL g1 4; LDS 1; LDS 2",
    "UPCAST g1 4; LOCAL g0 4; UNROLL r0 4; LDS 2; LDS 1",
    "PADTO g1 16; LOCAL g1 16; LDS 2",
    "LOCAL g0 2; LOCAL g1 3; UPCAST g1.o 2; PADTO r0 10; LDS 2; LDS 1",
]
TWICE = """
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=64
%2 = LOAD float32 %1 view=[(8,8):(8,1)]
%3 = LOAD float32 %1 view=[(8,8):(1,8)]
%4 = ADD float32 %2 %3
%5 = STORE void %0 %4 view=[(8,8):(8,1)]
%6 = SINK void %5 axes=(g0:8,g1:8)
"""
SMALL = replace(LLVM, capabilities=replace(LLVM.capabilities, shared_bytes=256))
TINY = replace(OPENCL, capabilities=replace(OPENCL.capabilities, shared_bytes=160))


def locals_of(text, opts, target):
    return [(n.attr[0], n.attr[1]) for n in k.of_op(k.nodes(text, opts, target), Op.LOCAL)]


def scope_of_fill(text, opts, target, slot):
    """The ranges, not of the fill itself, in which the panel of a buffer is filled."""
    (after,) = [
        node
        for node in k.of_op(k.nodes(text, opts, target), Op.AFTER)
        if node.src[0].op is Op.LOCAL and node.src[0].attr[0] == f"lds{slot}"
    ]
    names = [node.attr[0] for node in toposort(after) if node.op is Op.RANGE]
    return [name for name in names if not name.startswith("lds")]


# --- which panel ---


def test_a_panel_holds_all_that_its_inner_loops_read():
    assert locals_of(k.MATMUL, "LDS 2", LLVM) == [("lds2", 192)]


def test_a_panel_that_does_not_fit_is_one_for_each_iteration_of_an_outer_loop():
    opts = "UPCAST g1 4; SWAP g0 g1.o; LDS 2"
    assert locals_of(k.MATMUL, opts, SMALL) == [("lds2", 64)]
    assert scope_of_fill(k.MATMUL, opts, SMALL, 2) == ["g1.i", "g1.o"]


def test_the_smallest_of_the_panels_that_copy_least_is_taken():
    opts = "UPCAST g1 4; SWAP g0 g1.o; LDS 2"
    assert locals_of(k.MATMUL, opts, LLVM) == [("lds2", 64)]


def test_a_work_group_fills_a_panel_of_its_own():  # row 83
    opts = "LOCAL g0 2; LOCAL g1 4; UNROLL r0 4; LDS 1; LDS 2"
    assert locals_of(k.MATMUL, opts, OPENCL) == [("lds1", 32), ("lds2", 16)]


def test_each_load_of_a_buffer_has_a_panel():
    assert locals_of(TWICE, "LDS 1", LLVM) == [("lds1", 1), ("lds1.l1", 1)]


def test_lanes_are_neighbours_in_a_panel():
    root = k.stages(TWICE, "UPCAST g0 8; LDS 1", LLVM)["expand"]
    local = [n for n in k.of_op(root, Op.READ) if n.src[0].op is Op.AFTER]
    assert [n.dtype.count for n in local] == [8, 8]  # one of the two is strided in the buffer


# --- how it is filled ---


def test_a_panel_filled_in_a_loop_waits_for_all_items_twice_a_round():
    source = compile_kernel(
        k.ast(k.MATMUL), TINY, DEFAULT, parse_opts("LOCAL g1 4; UNROLL r0 4; LDS 2")
    ).program.source
    assert source.count("barrier(") == 2
    assert source.index("for (") < source.index("barrier(")


def test_a_panel_filled_once_waits_once():
    source = compile_kernel(
        k.ast(k.MATMUL), OPENCL, DEFAULT, parse_opts("LOCAL g0 4; LDS 1")
    ).program.source
    assert source.count("barrier(") == 1


def test_what_local_memory_an_llvm_kernel_takes_it_gives_back():
    source = compile_kernel(
        k.ast(k.MATMUL), LLVM, DEFAULT, parse_opts("LDS 1; LDS 2")
    ).program.source
    assert source.count("call ptr @aligned_alloc") == source.count("call void @free") == 2


# --- that it computes the same ---


@pytest.mark.parametrize(
    ("opts", "target"),
    [*[(opts, LLVM) for opts in CPU], *[(opts, OPENCL) for opts in GROUPS]],
    ids=lambda value: value if isinstance(value, str) else value.backend,
)
def test_every_stage_of_a_staged_product_computes_it(opts, target):
    k.assert_stages_compute(k.MATMUL, opts, target)


@pytest.mark.parametrize("text", [k.PADDED_POOL, k.VARIANCE, k.TWO_SUMS, k.NESTED, k.REVERSED_ROWS])
@pytest.mark.parametrize(("opts", "target"), [("LDS 1", LLVM), ("LOCAL g0 2; LDS 1", OPENCL)])
def test_masks_views_and_reduces_in_turn_go_through_panels(text, opts, target):
    k.assert_stages_compute(text, opts, target)


@pytest.mark.parametrize("text", [k.VARIANCE, k.TWO_SUMS])
def test_panels_in_loops_that_are_copied_have_loops_of_their_own(text):
    k.assert_stages_compute(text, "LOCAL g0 4; UNROLL r0 4; LDS 1", TINY)


@pytest.mark.parametrize("opts", GROUPS)
def test_both_backends_give_the_bits_that_they_give_without_panels(opts):
    plain = "; ".join([word for word in opts.split("; ") if not word.startswith("LDS")])
    runs = [(OPENCL, plain), (OPENCL, opts)]
    inputs = k.random_inputs(k.ast(k.MATMUL))
    results = [_run(target, text, inputs).tobytes() for target, text in runs]
    assert results == results[:1] * len(results)


def _run(target, opts, inputs):
    program = compile_kernel(k.ast(k.MATMUL), target, DEFAULT, parse_opts(opts)).program
    device = open_device(target.backend)
    buffers = [device.allocate(argument.dtype, argument.size) for argument in program.arguments]
    for slot in (1, 2):
        device.upload(buffers[slot], np.asarray(inputs[slot], np.float32))
    device.build(program)(buffers, {})
    return device.download(buffers[0])
