"""Found in the README: a dropped guard was titled `- fmul, fmul: # -> nothing, fmul: float -> #`.

Lines were compared in the order in which they stood, a select that had gone with the
multiplication below it. Their kind: a title says what was done to instructions, and operands are
compared only between instructions that do the same. Likewise in OpenCL C, where the same guard was
titled `< ?: name) | (name ! -> nothing`: what is said there are the operators and functions.
"""

import pytest

from replay.compare.diff import edits

GUARDED = """  %a = select i1 %c, float %x, float 0.0
  %b = fmul float %a, 2.0
  %d = fadd float %b, 1.0"""
BARE = """  %b = fmul float %x, 2.0
  %d = fadd float %b, 1.0"""


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        (GUARDED, BARE, ("select removed",)),
        (BARE, GUARDED, ("select added",)),
        (BARE, BARE.replace("fadd", "fsub"), ("fadd -> fsub",)),
        (BARE, BARE.replace("2.0", "name"), ("fmul: # -> name",)),
    ],
)
def test_a_title_names_the_instructions_that_went_came_or_changed(old, new, title):
    assert edits(old, new) == title


def test_removing_the_same_guard_many_times_is_said_once():
    many = "\n".join([GUARDED] * 9), "\n".join([BARE] * 9)
    assert edits(*many) == edits(GUARDED, BARE)


GUARDED_LOAD = "  float val0 = (((i0 < 3) | (!val1)) ? data1[i0] : 0.0f);"
LOAD = "  float val0 = data1[i0];"
STORE = "  data0[i0] = exp(val0) * 2.0f;"
GUARDED_STORE = "  if (i0 < 4) data0[i0] = exp(val0) * 2.0f;"


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        (GUARDED_LOAD, LOAD, ("guard ?: on ! < | removed",)),
        (LOAD, GUARDED_LOAD, ("guard ?: on ! < | added",)),
        (GUARDED_STORE, STORE, ("guard if on < removed",)),
        (STORE, STORE.replace("* 2", "/ 2"), ("* -> /",)),
        (STORE, STORE.replace("exp", "native_exp"), ("exp -> native_exp",)),
        (STORE, STORE.replace("2.0f", "3.0f"), ("* exp: # -> #",)),
        (STORE, f"  barrier(CLK_LOCAL_MEM_FENCE);\n{STORE}", ("statement with barrier added",)),
        ("for (int r0 = 0; r0 < 4; r0++) {", "for (int r0 = 0; r0 <= 4; r0++) {", ("< -> <=",)),
    ],
)
def test_a_title_says_what_was_done_in_the_words_of_c(old, new, title):
    assert edits(old, new) == title
