"""The verifier: each broken graph is refused by name, each good one passes."""

import pytest

from compiler.errors import VerifyError
from compiler.ir import (
    FLOAT32,
    INT32,
    Node,
    Op,
    Spec,
    const,
    intern,
    parse_node,
    replace_src,
    verify,
)
from compiler.ir.wellformed import find_malformed

KERNEL = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=144
%2 = LOAD float32 %1 view=[(12,12):(12,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,12):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:12)
"""
VOID_LOAD = "LOAD float32 %1 view=[(12,12):(0,0)?(0:0,0:0)]"
LINEAR = """ir 1
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=8
%2 = CONST int32 value=8 view=none
%3 = CONST int32 value=0 view=none
%4 = CONST float32 value=0x0.0p+0 view=none
%5 = ACC float32 number=0
%6 = INIT void %5 %4
%7 = RANGE int32 %2 name=r0 kind=REDUCE
%8 = READ float32 %1 %7
%9 = ADD float32 %5 %8
%10 = SET void %5 %9
%11 = END void %7 %10
%12 = RESULT float32 %5 %11 index=0
%13 = WRITE void %0 %3 %12
%14 = PROGRAM void %0 %1 %2 %3 %4 %6 %7 %8 %9 %10 %11 %12 %13
"""


NEST = """ir 1
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=8
%2 = CONST int32 value=8 view=none
%3 = CONST int32 value=0 view=none
%4 = CONST float32 value=0x0.0p+0 view=none
%5 = ACC float32 number=0
%6 = INIT void %5 %4
%7 = RANGE int32 %2 name=r0 kind=REDUCE
%8 = RANGE int32 %2 name=r1 kind=REDUCE
%9 = READ float32 %1 %8
%10 = ADD float32 %5 %9
%11 = SET void %5 %10
%12 = LOOP void %7 %8 %4 %5 %10 ranges=2 accs=1
%13 = RESULT float32 %12 index=0
%14 = WRITE void %0 %3 %13
%15 = PROGRAM void %0 %1 %2 %3 %4 %6 %7 %8 %9 %10 %11 %12 %13 %14
"""


def test_a_row_sum_is_a_kernel():
    verify(parse_node(KERNEL), Spec.KERNEL)


def test_a_loop_in_order_is_linear():
    verify(parse_node(LINEAR), Spec.LINEAR)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("LOAD float32", "LOAD float64", "the buffer holds float32"),
        ("REDUCE float32", "REDUCE float64", "dtype float64 of a reduce over float32"),
        ("axes=(r0)", "axes=(r1)", "names ['r1']"),
        ("axes=(g0:12,r0:12)", "axes=(g0:12,g0:12)", "two have the same name"),
        ("axes=(g0:12,r0:12)", "axes=(g0:13,r0:12)", "the view has shape"),
        ("(12,12):(1,0)", "(12,12):(1,1)", "depends on reduce axes ['r0']"),
        ("op=ADD", "op=SUB", "reduces by SUB"),
        ("slot=1", "slot=2", "slots [0, 2] do not count from 0"),
        ("size=144", "size=0", "expected at least 1"),
    ],
)
def test_a_broken_kernel_is_refused_with_its_reason(old, new, words):  # row 3
    with pytest.raises(VerifyError) as raised:
        verify(parse_node(KERNEL.replace(old, new, 1)), Spec.KERNEL, "pass example")
    assert words in str(raised.value)
    assert str(raised.value).startswith("pass example: ")


def program_without(*ops: Op) -> Node:
    root = parse_node(LINEAR)
    return replace_src(root, tuple(child for child in root.src if child.op not in ops))


def test_a_program_without_an_end_uses_a_result_before_its_definition():
    with pytest.raises(VerifyError, match="before its definition or outside its loop"):
        verify(program_without(Op.END), Spec.LINEAR)


def test_a_loop_that_is_never_closed_is_refused():
    with pytest.raises(VerifyError, match="is never closed"):
        verify(program_without(Op.END, Op.RESULT, Op.WRITE), Spec.LINEAR)


def test_a_loop_closes_all_its_ranges():
    verify(parse_node(NEST), Spec.LINEAR)


def test_a_loop_that_closes_its_ranges_in_another_order_is_refused():
    swapped = NEST.replace("LOOP void %7 %8", "LOOP void %8 %7")
    with pytest.raises(VerifyError, match="not the innermost open block"):
        verify(parse_node(swapped), Spec.LINEAR)


def test_a_value_of_a_loop_used_after_it_is_refused():
    leak = NEST.replace("%14 = WRITE void %0 %3 %13", "%14 = WRITE void %0 %3 %9")
    with pytest.raises(VerifyError, match="outside its loop"):
        verify(parse_node(leak), Spec.LINEAR)


def test_an_accumulator_without_init_is_refused():
    with pytest.raises(VerifyError, match="before its INIT"):
        verify(program_without(Op.INIT), Spec.LINEAR)


def test_a_value_used_outside_its_loop_is_refused():
    root = parse_node(LINEAR)
    read = next(child for child in root.src if child.op is Op.READ)
    leak = intern(Op.WRITE, root.dtype, (*root.src[-1].src[:2], read))
    with pytest.raises(VerifyError, match="outside its loop"):
        verify(replace_src(root, (*root.src[:-1], leak)), Spec.LINEAR)


def test_the_kernel_form_refuses_lowered_ops():
    with pytest.raises(VerifyError, match="does not belong to the kernel form"):
        verify(parse_node(LINEAR), Spec.KERNEL)


def test_a_view_without_any_valid_position_depends_on_no_axis():
    text = KERNEL.replace("LOAD float32 %1 view=[(12,12):(12,1)]", VOID_LOAD)
    text = text.replace("%4 = STORE void %0 %3", "%4 = ADD float32 %3 %2\n%5 = STORE void %0 %4")
    verify(parse_node(text.replace("%5 = SINK void %4", "%6 = SINK void %5")), Spec.KERNEL)


_X, _FOUR = (
    intern(Op.VAR, INT32, (), ("x", 0, 9)),
    intern(Op.SPLAT, INT32.vec(4), (const(INT32, 1),)),
)
_ARRAY = intern(Op.BUFFER, INT32, (), (0, 8))


def _shuffle(vectors, lanes):
    return intern(Op.SHUFFLE, INT32.vec(2), vectors, (lanes,))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (intern(Op.ADD, INT32, (_X, _X)), intern(Op.ADD, FLOAT32, (_X, _X))),
        (intern(Op.ADD, INT32, (_X, _X)), intern(Op.ADD, INT32, (_X, _X), (1,))),
        (intern(Op.ADD, INT32, (_X, _X)), intern(Op.ADD, INT32, (_X, _X, _X))),
        (intern(Op.READ, INT32, (_ARRAY, _X)), intern(Op.READ, INT32, (_X, _X))),
        (intern(Op.READ, INT32, (_ARRAY, _X)), intern(Op.READ, INT32)),
        (intern(Op.LANE, INT32, (_FOUR,), (1,)), intern(Op.LANE, INT32, (_FOUR,), (4,))),
        (_shuffle((_FOUR,), (3, 0)), _shuffle((_FOUR,), (4, 0))),
        (_shuffle((_FOUR, _FOUR), (7, 0)), _shuffle((_FOUR, _FOUR), (8, 0))),
        (_shuffle((_FOUR,), (3, 0)), _shuffle((_FOUR,), (-1, 0))),
        (_shuffle((_FOUR,), (1, 0)), _shuffle((_FOUR, _X), (1, 0))),
        (_shuffle((_FOUR,), (1, 0)), _shuffle((_FOUR,) * 3, (1, 0))),
        (_shuffle((_FOUR,), (1, 0)), intern(Op.SHUFFLE, INT32.vec(4), (_FOUR,), ((1, 0),))),
        (_shuffle((_FOUR,), (1, 0)), _shuffle((_FOUR,), 1)),
        (_ARRAY, intern(Op.BUFFER, INT32, (), (0, "8"))),
    ],
)
def test_a_bad_node_is_found_after_good_ones_of_its_op(good, bad):
    assert find_malformed([good]) is None
    found = find_malformed([good, bad])
    assert found is not None
    assert found[0] is bad
