"""The pipeline as a whole: specs, values at every stage, and what happens when a pass is wrong."""

from dataclasses import replace
from itertools import pairwise

import pass_checks as k
import pytest

from compiler import passes
from compiler.errors import RewriteError, VerifyError
from compiler.ir import BOOL, FLOAT64, VOID, Node, Op, Spec, const, intern, toposort
from compiler.options import DEFAULT, CompileOptions, MathOptions, ScheduleOptions
from compiler.passes import PIPELINE, Pass, run_pipeline
from compiler.target import LLVM, OPENCL, find_target

CPU_CASES = [
    (k.ROW_SUM, ""),
    (k.ROW_SUM, "UPCAST g0 4"),
    (k.ROW_SUM, "UNROLL r0 4"),
    (k.ROW_SUM, "UNROLL r0 24"),
    (k.ROW_SUM, "UPCAST g0 3; UNROLL r0 6"),
    (k.ROW_MAX, "UNROLL r0 8"),
    (k.COLUMN_SUM, "UPCAST g0 12"),
    (k.COLUMN_SUM, "UPCAST g0 6; UNROLL r0 2"),
    (k.TRANSPOSE, "UPCAST g0 3; UPCAST g1 4"),
    (k.MATMUL, ""),
    (k.MATMUL, "UPCAST g1 4; UPCAST g0 4; UNROLL r0 4"),
    (k.MATMUL, "UPCAST g1 6; SWAP g0 g1.o"),
    (k.MATMUL, "PADTO g1 16; UPCAST g1 4"),
    (k.MATMUL, "PADTO r0 5; UNROLL r0 5"),
    (k.VARIANCE, ""),
    (k.VARIANCE, "UPCAST g0 4; UNROLL r1 4"),
    (k.TWO_SUMS, "UNROLL r0 4"),
    (k.NESTED, ""),
    (k.NESTED, "UNROLL r0 4; UNROLL r1 2; UPCAST g0 2"),
    (k.PADDED_POOL, ""),
    (k.PADDED_POOL, "UPCAST g1 5; UNROLL r0 3"),
    (k.PADDED_POOL, "UPCAST g0 5"),
    (k.REVERSED_ROWS, "UPCAST g0 2; UPCAST g1 6"),
    (k.WITH_INDEX, "UPCAST g0 6; UNROLL r0 2"),
    (k.ANY, "UNROLL r0 8; UPCAST g0 2"),
    (k.TWO_OUTPUTS, "UPCAST g1 3"),
]
GROUP_CASES = [
    (k.ROW_SUM, "GROUP r0 8"),
    (k.ROW_SUM, "GROUPTOP r0 8; UPCAST g0 2"),
    (k.ROW_SUM, "LOCAL g0 4; GROUP r0 4; UNROLL r0.o 3"),
    (k.ROW_MAX, "LOCAL g0 2; GROUPTOP r0 4; UPCAST g0.o 3"),
    (k.MATMUL, "LOCAL g0 2; LOCAL g1 4"),
    (k.MATMUL, "GROUP r0 4; UPCAST g1 4; UPCAST g0 2"),
    (k.VARIANCE, "GROUP r1 4"),
    (k.VARIANCE, "GROUP r0 4; GROUP r1 2; UPCAST g0 2"),
    (k.NESTED, "GROUP r1 2"),
    (k.NESTED, "GROUP r0 2; GROUP r1 2"),
    (k.NESTED, "GROUP r1 4; UNROLL r0 2; UPCAST g0 3"),
    (k.ANY, "GROUP r0 8; UPCAST g0 2"),
]


def test_adjacent_passes_agree_about_the_form_of_the_graph():
    assert PIPELINE[0].accepts is Spec.INDEXED
    assert PIPELINE[-1].yields is Spec.LINEAR
    for before, after in pairwise(PIPELINE):
        assert before.yields is after.accepts, (before.name, after.name)


def test_passes_have_different_names():
    assert len({step.name for step in PIPELINE}) == len(PIPELINE)


@pytest.mark.parametrize("target", [LLVM, OPENCL], ids=["llvm", "opencl"])
@pytest.mark.parametrize(("text", "opts"), CPU_CASES)
def test_every_stage_computes_what_the_ast_says(text, opts, target):
    k.assert_stages_compute(text, opts, target)


@pytest.mark.parametrize(("text", "opts"), GROUP_CASES)
def test_every_stage_of_a_grouped_kernel_computes_what_the_ast_says(text, opts):
    k.assert_stages_compute(text, opts, OPENCL)


@pytest.mark.parametrize("target", [LLVM, OPENCL], ids=["llvm", "opencl"])
@pytest.mark.parametrize("n", [1, 5, 64])
def test_symbolic_kernels_compute_the_same_at_every_size(target, n):
    k.assert_stages_compute(k.SYMBOLIC, "UPCAST g1 4", target, variables={"n": n})


@pytest.mark.parametrize("options", [CompileOptions(math=MathOptions(fma=False)), DEFAULT])
def test_products_are_fused_into_sums_only_where_the_option_says_so(options):
    program = k.stages(k.MATMUL, "UNROLL r0 4", LLVM, options)["linearize"]
    assert (Op.MULACC in k.ops(program)) is options.math.fma


def test_two_runs_give_the_same_nodes():
    assert k.stages(k.MATMUL, "UPCAST g1 4", LLVM) == k.stages(k.MATMUL, "UPCAST g1 4", LLVM)


def test_a_digest_is_that_of_the_text():
    stage = run_pipeline(k.nodes(k.ROW_SUM, "", LLVM), LLVM)[-1]
    assert stage.text().startswith("ir 1\n")
    assert len(stage.digest()) == 64


# --- wrong passes ---


def _patch(monkeypatch, name, change):
    """Let the pass `name` return `change` of its result."""

    def patched(step):
        return replace(step, run=lambda root, context: change(step.run(root, context)))

    steps = tuple(patched(step) if step.name == name else step for step in PIPELINE)
    monkeypatch.setattr(passes, "PIPELINE", steps)


def _with(root, old, new):
    """`root` with one node replaced, nothing folded."""
    done = {old: new}
    for node in toposort(root):
        if node not in done:
            src = tuple(done[child] for child in node.src)
            done[node] = intern(node.op, node.dtype, src, node.attr)
    return done[root]


def _wrong_dtype(root):
    write = next(node for node in toposort(root) if node.op is Op.WRITE)
    wrong = intern(Op.CAST, FLOAT64, (write.src[2],))
    return _with(root, write, intern(Op.WRITE, VOID, (*write.src[:2], wrong, *write.src[3:])))


@pytest.mark.parametrize("name", [step.name for step in PIPELINE])
def test_a_pass_that_emits_a_wrong_dtype_is_named(monkeypatch, name):  # row 84
    _patch(monkeypatch, name, _wrong_dtype)
    with pytest.raises(VerifyError, match=f"pass {name}: "):
        k.stages(k.MATMUL, "UPCAST g1 4", LLVM)


def _without(program, unwanted):
    return intern(Op.PROGRAM, VOID, tuple(node for node in program.src if not unwanted(node)))


def test_a_pass_that_leaves_a_loop_open_is_named(monkeypatch):
    _patch(monkeypatch, "linearize", lambda root: _without(root, _is_last_end(root)))
    with pytest.raises(VerifyError, match=r"pass linearize: .* is never closed"):
        k.stages(k.MATMUL, "", LLVM)


def _is_last_end(program):
    last = [node for node in program.src if node.op is Op.END][-1]
    return lambda node: node is last


def test_a_pass_that_leaves_a_reduce_range_without_its_loop_is_named(monkeypatch):
    def unclosed(root):
        result = next(node for node in toposort(root) if node.op is Op.RESULT)
        return _with(root, result, result.src[0].src[-1])  # the value of one iteration

    _patch(monkeypatch, "reduce", unclosed)
    with pytest.raises(VerifyError, match="pass reduce: "):
        k.stages(k.ROW_SUM, "", LLVM)


def test_a_pass_that_uses_a_value_before_its_definition_is_named(monkeypatch):
    def swapped(program):
        order = list(program.src)
        write = next(index for index, node in enumerate(order) if node.op is Op.WRITE)
        value = order.index(order[write].src[2])
        order[write], order[value] = order[value], order[write]
        return intern(Op.PROGRAM, VOID, tuple(order))

    _patch(monkeypatch, "linearize", swapped)
    with pytest.raises(VerifyError, match=r"pass linearize: .*before its definition"):
        k.stages(k.TWO_OUTPUTS, "", LLVM)


def test_a_pass_that_raises_on_the_ir_is_named(monkeypatch):
    def broken(root: Node, context) -> Node:
        raise VerifyError("something is wrong")

    broken_pass = Pass("expand", broken, Spec.INDEXED, Spec.EXPANDED)
    monkeypatch.setattr(passes, "PIPELINE", (PIPELINE[0], PIPELINE[1], broken_pass))
    with pytest.raises(VerifyError, match="pass expand: something is wrong"):
        k.stages(k.ROW_SUM, "", LLVM)


def test_a_graph_that_is_not_indexed_is_refused_before_the_first_pass():
    root = k.nodes(k.ROW_SUM, "", LLVM)
    wrong = _with(root, root.src[0].src[2], const(BOOL, True))
    with pytest.raises(VerifyError, match="pass nodes: "):
        run_pipeline(wrong, LLVM)


def test_too_many_nodes_are_refused_with_the_lanes_that_made_them():
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=50))
    with pytest.raises(RewriteError, match=r"pass expand: .*limit is 50: .*UPCAST g1 12"):
        k.compiled(k.MATMUL, "UPCAST g1 12; UPCAST g0 4; UNROLL r0 4", LLVM, options)


def test_far_too_many_nodes_are_refused_before_they_are_made():
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=10))
    with pytest.raises(RewriteError, match=r"limit is 40 before simplification: .*UPCAST g1 12"):
        k.compiled(k.MATMUL, "UPCAST g1 12; UPCAST g0 4; UNROLL r0 4", LLVM, options)


def test_the_error_for_too_many_nodes_names_opts_as_they_were_given():
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=50))
    with pytest.raises(RewriteError, match=r"UNROLL r0 8, UPCAST g1 6, UPCAST g0 4; use"):
        k.compiled(k.MATMUL, "UPCAST g1 6; UPCAST g0 4; UNROLL r0 8", LLVM, options)


SINES = """
%0 = BUFFER float32 slot=0 size=8
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(8,12):(12,1)]
%3 = SIN float32 %2
%4 = REDUCE float32 %3 op=ADD axes=(r0)
%5 = STORE void %0 %4 view=[(8,12):(1,0)]
%6 = SINK void %5 axes=(g0:8,r0:12)
"""  # a sine is more than a hundred nodes


@pytest.mark.parametrize(
    ("max_nodes", "opts", "refusal"),
    [
        (30, "UPCAST g0 2; UNROLL r0 2", "pass decompose: .* limit is 30: split the kernel"),
        (200, "UPCAST g0 4", "pass expand: .* limit is 200: the largest lanes are UPCAST g0 4"),
    ],
)
def test_lanes_are_not_blamed_for_what_a_kernel_is_without_them(max_nodes, opts, refusal):
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=max_nodes))
    with pytest.raises(RewriteError, match=refusal):
        k.compiled(SINES, opts, LLVM, options)


def test_nor_are_a_few_lanes_of_a_kernel_that_was_over_the_limit():
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=10))
    with pytest.raises(RewriteError, match="limit is 10: split the kernel"):
        k.compiled(k.MATMUL, "UPCAST g1 2", LLVM, options)


CORE = """
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float16 slot=1 size=16384
%2 = LOAD float16 %1 view=[(64,64,256):(256,0,1)]
%3 = CAST float32 %2
%4 = BUFFER float16 slot=2 size=16384
%5 = LOAD float16 %4 view=[(64,64,256):(0,1,64)]
%6 = CAST float32 %5
%7 = MUL float32 %3 %6
%8 = REDUCE float32 %7 op=ADD axes=(r0)
%9 = STORE void %0 %8 view=[(64,64,256):(64,1,0)]
%10 = SINK void %9 axes=(g0:64,g1:64,r0:256)
"""


def test_a_tensor_core_is_named_as_one_opt_beside_the_others():
    """Its loops are lanes that nobody asked for by these names."""
    opts = "TC intel.dpas8x8x16.f16 g1 g0 r0 0 3; UNROLL r0.o 8"
    with pytest.raises(
        RewriteError, match=r"lanes are TC intel.dpas8x8x16.f16 g1 g0 r0 0 3, UNROLL r0.o 8; use"
    ):
        k.compiled(CORE, opts, find_target("opencl/pocl"))


def test_4096_terms_side_by_side_stay_below_the_limit_or_are_refused_by_name():
    text = k.ROW_SUM.replace("24", "4096").replace("288", "49152")
    opts = "UNROLL r0 32; UNROLL r0.o 32; UNROLL r0.o.o 4"
    try:
        done = k.compiled(text, opts, LLVM)
    except RewriteError as error:
        assert "UNROLL r0" in str(error)  # noqa: PT017  # either answer is right
        return
    assert max(len(list(toposort(root))) for root in done.values()) < 20_000
