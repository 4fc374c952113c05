"""The text form: exact round trips, and one clear line for all that is not in the grammar."""

import math
import subprocess
import sys

import pytest

from compiler.errors import ParseError
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    VOID,
    Node,
    Op,
    View,
    ViewStack,
    const,
    intern,
    parse_node,
    print_node,
)

ROW_SUM = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=144
%2 = LOAD float32 %1 view=[(12,12):(12,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,12):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:12)
"""


def symbolic_kernel() -> Node:
    n = intern(Op.VAR, INT64, (), ("n", 1, 100))
    size = intern(Op.MUL, INT64, (n, const(INT64, 4)))
    out = intern(Op.BUFFER, FLOAT32, (), (0, size))
    source = intern(Op.BUFFER, FLOAT32, (), (1, size))
    inner = View((size,), (1,), 0, ((0, n),))
    view = ViewStack((inner, View((n, 4), (4, 1), n, None)))
    load = intern(Op.LOAD, FLOAT32, (source,), (view,))
    store = intern(Op.STORE, VOID, (out, load), (ViewStack((View((n, 4), (4, 1)),)),))
    return intern(Op.SINK, VOID, (store,), ((("g0", n), ("g1", 4)),))


def test_text_of_a_row_sum_round_trips_to_the_same_node():
    root = parse_node(ROW_SUM)
    assert print_node(root) == ROW_SUM
    assert parse_node(print_node(root)) is root


def test_symbolic_sizes_inside_views_round_trip():
    root = symbolic_kernel()
    assert parse_node(print_node(root)) is root


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (FLOAT32, -0.0),
        (FLOAT32, math.inf),
        (FLOAT32, math.nan),
        (FLOAT64, 5e-324),
        (BFLOAT16, 1.0078125),
        (INT32, -(2**31)),
        (BOOL, True),
    ],
)
def test_constants_round_trip_bit_for_bit(dtype, value):
    node = const(dtype, value)
    assert parse_node(print_node(node)) is node


def test_zero_and_minus_zero_are_different_nodes():
    assert const(FLOAT32, 0.0) is not const(FLOAT32, -0.0)


def test_all_nans_are_one_node():
    assert const(FLOAT32, math.nan) is const(FLOAT32, -math.nan)


def test_parsing_never_folds():
    text = (
        "ir 1\n%0 = CONST int32 value=1 view=none\n%1 = CONST int32 value=2 view=none\n"
        "%2 = ADD int32 %0 %1\n"
    )
    assert parse_node(text).op is Op.ADD


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ir 1", "ir 2", "line 1"),
        ("%3 = REDUCE", "%7 = REDUCE", "line 5: defines %7"),
        ("LOAD float32 %1", "LOAD float32 %9", "%9 is used before its definition"),
        ("REDUCE", "REDUCES", "op REDUCES is unknown"),
        ("float32 slot=1", "float33 slot=1", "float33"),
        ("op=ADD ", "", "REDUCE has fields axes, expected op axes"),
        ("op=ADD", "op=PLUS", "op PLUS is unknown"),
        ("(12,12):(12,1)", "(12,12):(12)", "differ in rank"),
        ("size=144", "size=1.5", "integer expected"),
        ("slot=1", "slot=01", "canonical"),
        ("axes=(g0:12,r0:12)\n", "axes=(g0:12,r0:12)", "cut off"),
    ],
)
def test_text_outside_the_grammar_is_refused_in_one_line(old, new, words):
    with pytest.raises(ParseError) as raised:
        parse_node(ROW_SUM.replace(old, new, 1))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_shared_graph_of_two_thousand_doublings_is_linear():
    node = const(INT32, 1)
    for _ in range(2000):
        node = intern(Op.ADD, INT32, (node, node))
    text = print_node(node)
    assert text.count("\n") == 2002
    assert parse_node(text) is node


def test_text_printed_in_one_process_parses_in_another_to_the_same_text():
    code = "import sys; from compiler.ir import parse_node, print_node; t = sys.stdin.read(); "
    code += "sys.stdout.write(print_node(parse_node(t)))"
    text = print_node(symbolic_kernel())
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True)
    assert done.stdout == text
