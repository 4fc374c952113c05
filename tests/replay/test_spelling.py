"""One program or two: blanks and comments make none, and whatever a compiler would read does."""

import pytest

from replay.compare.spelling import are_one_program

C = """#pragma OPENCL FP_CONTRACT OFF
__kernel void k(__global float *restrict data0, const __global int *restrict data1) {
  int i = get_global_id(0);
  for (int r0 = 0; r0 < 4; r0++) {
    data0[i] = data0[i] - -1.5e+3f + (data1[i] >> 1);
  }
}
"""
LLVM = """; ModuleID = "k"
target triple = "x86_64-unknown-linux-gnu"
define void @"k"(ptr noalias %".1", ptr %data1) {
entry:
  %v = load float, ptr %data1, align 4 ; the first
  store float %v, ptr %".1", !tbaa !0
  ret void
}
!0 = !{!"float", i64 0}
"""


def replaced(source, before, after):
    assert before in source
    return source.replace(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (";", " ;"),
        ("\n  ", "\n\t\t"),
        (" + ", "+"),
        ("{\n", "{ // a loop\n"),
        ("int i", "int /* a\n* name */ i"),
        ("- -1", "-\n-1"),
        ("#pragma OPENCL FP", "  #pragma\tOPENCL  FP"),
    ],
)
def test_blanks_and_comments_of_c_make_no_other_program(before, after):
    assert are_one_program(C, replaced(C, before, after), "opencl")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- -", "--"),
        (" >> ", " > > "),
        ("1.5e+3f", "1.5e + 3f"),
        ("1.5", "1 .5"),
        ("int i", "inti"),
        ("OFF\n", "OFF "),
        ("1.5e+3f", "1.5e+3f // \r + 1.0f"),
        ("#pragma", "// #pragma"),
        ("r0 < 4", "r0 <: 4"),
        ("k(", "k2("),
        ("int i = get", "/* int i = get"),
    ],
)
def test_other_tokens_of_c_make_another_program(before, after):
    assert not are_one_program(C, replaced(C, before, after), "opencl")


def test_an_include_is_one_directive_with_its_line():
    source = "#include <metal_stdlib>\n" + C
    assert are_one_program(source, replaced(source, " + ", "+"), "metal")
    assert not are_one_program(source, replaced(source, "stdlib>\n", "stdlib>"), "metal")


@pytest.mark.parametrize(
    "line",
    [
        "#define N 4\n",
        "#pragma unroll \\\n 4\n",
        "int x = __LINE__;\n",
        "// what??/\n",
        "#if 1\n#endif\n",
        "#pragma unroll /* in\n two lines */\n",
        "int x; #pragma unroll\n",
    ],
)
def test_c_whose_layout_may_mean_something_is_compared_by_letters(line):
    source = line + C
    assert are_one_program(source, source, "opencl")
    assert not are_one_program(source, replaced(source, ";", " ;"), "opencl")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (", ", ","),
        ("  %v = load", "\n%v   =\tload"),
        (" ; the first", ""),
        ("{\nentry", "{ ; begins\nentry"),
        ("!{", "!{ "),
    ],
)
def test_blanks_and_comments_of_llvm_make_no_other_program(before, after):
    assert are_one_program(LLVM, replaced(LLVM, before, after), "llvm")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("align 4", "align4"),
        ("entry:", "entry :"),
        ("%v", "% v"),
        ("x86_64-unknown", "x86_64 -unknown"),
        ('"float"', '"float "'),
        ("target triple", "; target triple"),
        ('!"float"', '! "float"'),
    ],
)
def test_other_tokens_of_llvm_make_another_program(before, after):
    assert not are_one_program(LLVM, replaced(LLVM, before, after), "llvm")


def test_a_language_that_is_not_known_is_compared_by_letters():
    assert are_one_program("a  b", "a  b", "verilog")
    assert not are_one_program("a  b", "a b", "verilog")
