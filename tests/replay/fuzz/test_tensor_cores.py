"""Drawn sums of products on tensor cores: real, their loops alone, and in local memory.

Cores of this host run; those of GPUs are computed by the reference, which knows their layouts.
"""

import sys
from collections import Counter

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from compiler import compile_kernel, find_target, open_device, print_node
from compiler.ir import Op
from compiler.kernel import Tc, format_opts
from replay.fuzz.asts import products
from replay.fuzz.examine import Examined, Question, examine
from replay.fuzz.schedules import count_opts, schedules
from replay.numerics.stagewise import judged, runs_of

DRAWN = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
EXAMPLES = [
    ("llvm", 24),
    ("opencl", 5),  # PoCL builds each for half a second
    pytest.param("llvm", 200, marks=pytest.mark.slow),
    pytest.param("opencl", 60, marks=pytest.mark.slow),
]
GPUS = ("opencl/nvidia-sm80", "opencl/amd-gfx1100", "opencl/amd-gfx90a", "opencl/intel-xmx")


def is_core(opt):
    return isinstance(opt, Tc)


def is_real_core(opt):
    return isinstance(opt, Tc) and opt.use == 1


def target_on(backend):
    """The profile with the most cores that this host has."""
    if backend != "llvm":
        return find_target(backend)
    wide = find_target("llvm/x86-64-v4-bf16")
    return find_target("llvm/tiles") if open_device("llvm").why_unlike(wide) else wide


@pytest.mark.parametrize(("backend", "examples"), EXAMPLES)
def test_any_legal_opts_after_a_core_preserve_the_result(backend, examples):
    target, counts, uses = target_on(backend), Counter(), Counter()

    @seed(20261202)
    @settings(DRAWN, max_examples=examples)
    @given(st.data())
    def keeps_the_result(data):
        ast = products(data.draw)
        opts = data.draw(schedules(ast, target, fewest=3, first=is_core))
        question = Question(print_node(ast), format_opts(opts), (target.name,))
        answer = examine(msgspec.msgpack.encode(question))
        failure = msgspec.msgpack.decode(answer, type=Examined).failure
        assert failure is None, f"{failure}\n{question.opts}\n{question.ast}"
        counts.update(count_opts(opts))
        uses.update(opt.use for opt in opts if is_core(opt))

    keeps_the_result()
    said = f"{target.name}: {dict(sorted(counts.items()))}, uses {dict(sorted(uses.items()))}"
    sys.stdout.write(said + "\n")
    assert sorted(uses) == ([1, 2, 3] if backend == "llvm" else [2, 3]), said
    assert counts["Tc"] >= examples * 2 // 3, said


@pytest.mark.parametrize("examples", [16, pytest.param(150, marks=pytest.mark.slow)])
def test_cores_of_gpus_under_any_legal_opts_compute_the_kernel(examples):
    cores = Counter()

    @seed(20261202)
    @settings(DRAWN, max_examples=examples)
    @given(st.data(), st.sampled_from(GPUS))
    def computes_the_kernel(data, name):
        target, ast = find_target(name), products(data.draw)
        opts = data.draw(schedules(ast, target, fewest=3, first=is_real_core))
        compiled = compile_kernel(ast, target, opts=opts)
        program = compiled.stages[-1].node
        real = [opt.core for opt in opts if is_real_core(opt)]
        cores.update(real)
        assert bool(real) is any(node.op is Op.WMMA for node in program.src)
        found = judged(program, runs_of(compiled))
        assert not found.is_wrong, f"{found.reason}\n{format_opts(opts)}\n{print_node(ast)}"

    computes_the_kernel()
    sys.stdout.write(f"{dict(sorted(cores.items()))}\n")
    assert len(cores) >= 3, cores
