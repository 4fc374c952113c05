"""Tensor cores through every stage: real, their shape alone, and emulated in local memory."""

import numpy as np
import pytest

from compiler import compile_kernel
from compiler.backends.reference import evaluate
from compiler.ir import CORES, Op, find_core, toposort
from compiler.kernel import Tc, apply_all, from_ast, parse_opts, to_nodes
from compiler.passes import run_pipeline
from compiler.rules import Builder
from tests.kernel.products import error_of, exact, matmul, matrices, target_of

USES = {"real": 1, "shape": 2, "emulated": 3}
CASES = [(core.name, use) for core in CORES for use in USES]


def stages_of(core, shape, opts):
    target = target_of(core)
    kernel = apply_all(from_ast(matmul(*shape, core)), opts, target)
    builder = Builder()
    return run_pipeline(to_nodes(kernel, builder, target.capabilities), target, builder=builder)


@pytest.mark.parametrize(("name", "use"), CASES)
def test_every_stage_computes_the_product(name, use):  # rows 36, 78 and 79
    core = find_core(name)
    shape = (2 * core.size("m"), core.size("n"), 2 * core.size("k"))
    inputs = matrices(*shape, core)
    for stage in stages_of(core, shape, (Tc(name, "g1", "g0", "r0", 0, USES[use]),)):
        found = evaluate(stage.node, inputs)[0].reshape(shape[:2])
        bound = error_of(core, shape[2])
        np.testing.assert_allclose(found, exact(*shape, inputs), 0, bound, err_msg=stage.name)


@pytest.mark.parametrize(("use", "has_wmma"), [(1, True), (2, False), (3, False)])
def test_only_use_1_has_the_instruction(use, has_wmma):  # row 36
    core = find_core("nvidia.m16n8k16.f16")
    stages = stages_of(core, (16, 8, 32), (Tc(core.name, "g1", "g0", "r0", 0, use),))
    assert any(node.op is Op.WMMA for node in toposort(stages[-1].node)) is has_wmma


def test_the_sum_goes_on_in_the_accumulator_of_the_core():  # row 78
    core = find_core("amd.mfma16x16x16.f16")
    opts = (Tc(core.name, "g1", "g0", "r0"),)
    program = stages_of(core, (16, 16, 64), opts)[-1].node
    (wmma,) = [node for node in program.src if node.op is Op.WMMA]
    assert wmma.src[2].op is Op.ACC


def test_emulation_waits_before_and_after_it_fills_local_memory():  # row 79
    core = find_core("intel.dpas8x8x16.f16")
    opts = (Tc(core.name, "g1", "g0", "r0", 0, 3),)
    program = stages_of(core, (8, 8, 64), opts)[-1].node
    ops = [node.op for node in program.src]
    assert ops.count(Op.BARRIER) >= 2
    assert [node.attr for node in program.src if node.op is Op.LOCAL] == [
        ("a.r0", 128),
        ("b.r0", 128),
    ]


@pytest.mark.parametrize("use", USES.values())
@pytest.mark.parametrize("name", ["nvidia.m16n8k16.f16", "amd.wmma16x16x16.f16", "cpu.dpbf16ps"])
def test_sizes_that_are_no_multiples_are_padded(name, use):  # row 33
    core = find_core(name)
    shape = (core.size("m") + 1, core.size("n") + 3, core.size("k") * 2 - 1)
    inputs = matrices(*shape, core)
    for stage in stages_of(core, shape, (Tc(name, "g1", "g0", "r0", 2, use),)):
        found = evaluate(stage.node, inputs)[0].reshape(shape[:2])
        bound = error_of(core, shape[2])
        np.testing.assert_allclose(found, exact(*shape, inputs), 0, bound, err_msg=stage.name)


@pytest.mark.parametrize("use", USES.values())
@pytest.mark.parametrize("more", ["UPCAST g0.o 2; LOCAL g1.o 2", "UNROLL r0.o 2; UPCAST g1.o 2"])
@pytest.mark.parametrize("name", ["nvidia.m16n8k16.bf16", "apple.simdgroup8x8.f32"])
def test_other_opts_may_follow(name, more, use):
    core = find_core(name)
    shape = (2 * core.size("m"), 2 * core.size("n"), 2 * core.size("k"))
    inputs = matrices(*shape, core)
    opts = (Tc(name, "g1", "g0", "r0", 0, use), *parse_opts(more))
    for stage in stages_of(core, shape, opts):
        found = evaluate(stage.node, inputs)[0].reshape(shape[:2])
        bound = error_of(core, shape[2])
        np.testing.assert_allclose(found, exact(*shape, inputs), 0, bound, err_msg=stage.name)


def test_a_target_without_the_core_is_told_so():
    core = find_core("nvidia.m16n8k16.f16")
    target = target_of(find_core("apple.simdgroup8x8.f16"))
    reason = Tc(core.name, "g1", "g0", "r0").why_illegal(from_ast(matmul(16, 8, 16, core)), target)
    assert reason == "opencl/opencl-1.2 has no core nvidia.m16n8k16.f16, use 2 or 3"
    compiled = compile_kernel(
        matmul(16, 8, 16, core), target, opts=(Tc(core.name, "g1", "g0", "r0", 0, 3),)
    )
    assert compiled.applied[0].use == 3
