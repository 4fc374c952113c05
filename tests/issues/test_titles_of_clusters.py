"""Found in the README: a dropped guard was titled `- fmul, fmul: # -> nothing, fmul: float -> #`.

Lines were compared in the order in which they stood, a select that had gone with the
multiplication below it. Their kind: a title says what was done to instructions, and operands are
compared only between instructions that do the same.
"""

import pytest

from replay.diff import edits

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
