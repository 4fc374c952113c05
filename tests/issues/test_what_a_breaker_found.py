"""Found by trying to break the promises of the compiler from outside.

An unclosed reduce loop passed the check of the pass that made it, and where its axis had become
UNROLL no later pass saw it either: the kernel was silently wrong. Options given as objects were not
checked, and a huge one made the heuristics count to it.
"""

from dataclasses import replace

import pytest

import compiler.passes as passes
from compiler import (
    CompileOptions,
    CompilerError,
    OptionError,
    Tensor,
    compile_kernel,
    find_target,
    parse_node,
)
from compiler.errors import VerifyError
from compiler.ir import Op, substitute, toposort
from compiler.kernel import parse_opts
from compiler.options import MathOptions, ScheduleOptions

ROW_SUM = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=144
%2 = LOAD float32 %1 view=[(12,12):(12,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,12):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:12)
"""


def without_folds(root):
    folds = [node for node in toposort(root) if node.op is Op.FOLD]
    return substitute(root, {fold: fold.src[0] for fold in folds})


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("opts", [None, "UNROLL r0 12", "UNROLL r0 4"])
@pytest.mark.parametrize("name", ["decompose", "group"])
def test_a_pass_that_loses_a_fold_is_named(monkeypatch, backend, opts, name):
    broken = tuple(
        replace(step, run=lambda root, context, run=step.run: without_folds(run(root, context)))
        if step.name == name
        else step
        for step in passes.PIPELINE
    )
    monkeypatch.setattr(passes, "PIPELINE", broken)
    chosen = None if opts is None else parse_opts(opts)
    with pytest.raises(VerifyError, match=f"^pass {name}: .*outside of the FOLD"):
        compile_kernel(parse_node(ROW_SUM), find_target(backend), opts=chosen)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MathOptions(transcendental="bogus"),
        lambda: MathOptions(fma=1),
        lambda: ScheduleOptions(heuristics="none"),
        lambda: ScheduleOptions(vector_lanes="8"),
        lambda: ScheduleOptions(vector_lanes=8.0),
        lambda: ScheduleOptions(max_nodes=True),
        lambda: CompileOptions(math=None),
        lambda: CompileOptions(name=5),
    ],
)
def test_an_option_of_another_type_is_refused_where_it_is_given(make):
    with pytest.raises(OptionError, match=r"^option [\w.]+ is .*: use "):
        make()


def test_an_option_far_above_every_size_compiles_like_the_largest_that_matters():
    ast, target = parse_node(ROW_SUM), find_target("llvm")
    huge = CompileOptions(schedule=ScheduleOptions(vector_lanes=10**12, tile_columns=10**12))
    assert compile_kernel(ast, target, huge).applied == compile_kernel(ast, target).applied


@pytest.mark.parametrize(
    "question",
    [
        (None, find_target("llvm")),
        ("text", find_target("llvm")),
        (parse_node(ROW_SUM), "llvm"),
        (parse_node(ROW_SUM), find_target("llvm"), {"fma": True}),
        (parse_node(ROW_SUM), find_target("llvm"), CompileOptions(), parse_opts("UPCAST g0 4")[0]),
    ],
)
def test_what_is_no_question_is_refused_in_one_line(question):
    with pytest.raises(CompilerError, match=": use ") as raised:
        compile_kernel(*question)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", [None, b"ir 1"])
def test_what_is_no_text_is_refused_in_one_line(text):
    with pytest.raises(CompilerError, match="use a str"):
        parse_node(text)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((2**30, 2**30), "do not fit in memory"), ((2**40, 2**30), "is too big")],
)
def test_an_array_beyond_every_memory_is_refused_in_one_line(shape, reason):
    with pytest.raises(CompilerError, match=reason):
        Tensor.zeros(shape).numpy()
