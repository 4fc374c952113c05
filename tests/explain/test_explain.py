"""`python -m compiler.explain`: what was chosen and why, down to the machine code."""

import subprocess
import sys

import pytest

from compiler.compile import compile_kernel
from compiler.explain import Question, explain
from compiler.ir import parse_node
from compiler.kernel import choose, decisions, from_ast, parse_opts
from compiler.options import DEFAULT, CompileOptions, CoreUse, ScheduleOptions, SearchOptions
from compiler.passes import PIPELINE
from compiler.target import LLVM, OPENCL, REFERENCE, find_target

TEXT = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=576
%2 = LOAD float32 %1 view=[(12,48):(48,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,48):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:48)
"""
AST = parse_node(TEXT)
PRODUCT = parse_node("""ir 1
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(64,64,64):(64,0,1)]
%3 = BUFFER float32 slot=2 size=4096
%4 = LOAD float32 %3 view=[(64,64,64):(0,1,64)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(64,64,64):(64,1,0)]
%8 = SINK void %7 axes=(g0:64,g1:64,r0:64)
""")


def sections(question):
    explained = explain(question)
    return {section.title: section.lines for section in explained.sections}, explained.error


def command(*words):
    line = [sys.executable, "-m", "compiler.explain", *words]
    return subprocess.run(line, input=TEXT, capture_output=True, text=True, check=False)


def test_every_pass_of_the_pipeline_has_its_stage():  # row 85
    found, _ = sections(Question(AST, LLVM))
    stages = [title.split()[1] for title in found if title.startswith("stage ")]
    assert stages == ["nodes", *[step.name for step in PIPELINE]]


def test_buffers_are_listed_with_the_steps_of_their_accesses():  # row 85
    found, _ = sections(Question(AST, LLVM))
    assert found["buffers"] == (
        *("data0  float32 of 12", "  STORE  g0:1"),
        *("data1  float32 of 576", "  LOAD   g0:48 r0:1"),
    )


@pytest.mark.parametrize(
    ("target", "option", "said"),
    [
        ("llvm", {}, "the target has none"),
        ("llvm/tiles", {}, "cpu.outer16x16.f32 TC cpu.outer16x16.f32 g1 g0 r0"),
        ("llvm/tiles", {"core_use": CoreUse.NONE}, "the option schedule.core_use is none"),
        ("opencl/nvidia-sm80", {}, "is no sum of products of float16 and float16"),
        ("opencl/nvidia-sm80", {}, "it sees 11 bits of an operand, ask for it by schedule.core"),
        ("opencl/nvidia-sm80", {"core": "nvidia.m16n8k8.tf32"}, "TC nvidia.m16n8k8.tf32 g1 g0 r0"),
    ],
)
def test_tensor_cores_are_listed_with_their_opt_or_why_not(target, option, said):  # row 85
    options = CompileOptions(schedule=ScheduleOptions(**option))
    found, _ = sections(Question(PRODUCT, find_target(target), options))
    assert any(said in " ".join(line.split()) for line in found["tensor cores"])


def test_the_source_is_what_the_compiler_makes():
    found, _ = sections(Question(AST, OPENCL))
    assert "\n".join(found["source"]) == compile_kernel(AST, OPENCL).program.source.rstrip("\n")


def test_machine_code_is_shown_on_llvm():
    found, _ = sections(Question(AST, LLVM))
    name = compile_kernel(AST, LLVM).program.name
    assert f"{name}:" in found["asm"]


def test_each_opt_is_legal_or_has_its_reason_and_nothing_follows_that():
    opts = parse_opts("UPCAST 0 4; LOCAL 1 8; UNROLL 0 4")
    found, error = sections(Question(AST, LLVM, opts=opts))
    legal, illegal = found["opts"]
    assert "legal as UPCAST g0 4" in legal
    assert " ".join(illegal.split()) == "LOCAL 1 8 illegal: llvm has no work-groups, use UPCAST"
    assert error is not None
    assert error.endswith(": llvm has no work-groups, use UPCAST")
    assert "source" not in found


@pytest.mark.parametrize("target", [LLVM, OPENCL], ids=lambda target: target.backend)
def test_what_the_heuristics_decide_together_is_the_choice(target):
    kernel = from_ast(AST)
    added = [opt for step in decisions(kernel, target, DEFAULT) for opt in step.opts]
    assert tuple(added) == choose(kernel, target, DEFAULT) != ()


def test_a_trace_has_as_many_entries_as_rewrites_are_counted():
    found, _ = sections(Question(AST, LLVM, traces=True))
    numbered = [line for line in found["trace"] if line[0].isdigit()]
    assert len(numbered) == compile_kernel(AST, LLVM).rewrites > 0


def test_a_rewrite_limit_stops_the_rules():
    found, error = sections(Question(AST, LLVM, rewrite_limit=2))
    assert error is None
    assert "rules: 2 applications" in found


def test_the_reference_runs_the_ast_and_has_no_stages():
    found, error = sections(Question(AST, REFERENCE))
    assert error is None
    assert not [title for title in found if title.startswith("stage ")]


def test_the_command_reads_an_ast_and_options_and_prints_no_colours_to_a_pipe():
    done = command("-", "--opts", "UPCAST g0 4", "--option", "math.fma=false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "options  math.fma=False" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_command_says_why_an_opt_is_illegal_and_exits_with_1():
    done = command("-", "--opts", "UPCAST g0 5")
    assert done.returncode == 1
    assert done.stderr.startswith("error: UPCAST g0 5: 5 does not divide g0 of size 12")


@pytest.mark.parametrize(
    "words", [["/no/such/file"], ["-", "--target", "vax"], ["-", "--opts", "X"]]
)
def test_what_is_no_question_exits_with_2(words):
    assert command(*words).returncode == 2


def test_a_search_shows_what_was_left_at_the_end_and_marks_its_choice():
    question = Question(AST, LLVM, CompileOptions(search=SearchOptions(beam=2, tries=20)))
    found, _ = sections(question)
    chosen = [line for line in found["search"] if line.startswith("* ")]
    assert len(chosen) == 1
    assert any("the heuristics' choice" in line for line in found["search"])
    opts = chosen[0].split("cycles  ")[1].removesuffix("  (the heuristics' choice)")
    assert f"applied    {opts}" in found["program"]


def test_a_search_is_asked_for_by_options_of_the_command():
    done = command("-", "--option", "search.beam=1", "--option", "search.tries=12")
    assert "== search" in done.stdout
    assert done.returncode == 0
