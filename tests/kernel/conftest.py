"""Kernels to test with, by name."""

from collections.abc import Callable

import pytest

from compiler.ir import Node, Spec, parse_node, print_node, verify
from compiler.kernel import Kernel, from_ast

ROW_SUM = """
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=288
%2 = LOAD float32 %1 view=[(12,24):(24,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,24):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:24)
"""
ROW_MAX = ROW_SUM.replace("op=ADD", "op=MAX")
TRANSPOSE = """
%0 = BUFFER float32 slot=0 size=48
%1 = BUFFER float32 slot=1 size=48
%2 = LOAD float32 %1 view=[(6,8):(1,6)]
%3 = STORE void %0 %2 view=[(6,8):(8,1)]
%4 = SINK void %3 axes=(g0:6,g1:8)
"""
MATMUL = """
%0 = BUFFER float32 slot=0 size=96
%1 = BUFFER float32 slot=1 size=128
%2 = LOAD float32 %1 view=[(8,12,16):(16,0,1)]
%3 = BUFFER float32 slot=2 size=192
%4 = LOAD float32 %3 view=[(8,12,16):(0,1,12)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(8,12,16):(12,1,0)]
%8 = SINK void %7 axes=(g0:8,g1:12,r0:16)
"""
TWO_SUMS = """
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=32
%2 = LOAD float32 %1 view=[(4,8):(8,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = MUL float32 %2 %2
%5 = REDUCE float32 %4 op=ADD axes=(r0)
%6 = ADD float32 %3 %5
%7 = STORE void %0 %6 view=[(4,8):(1,0)]
%8 = SINK void %7 axes=(g0:4,r0:8)
"""
SYMBOLIC = """
%0 = VAR int64 name=n lo=1 hi=64
%1 = CONST int64 value=8 view=none
%2 = MUL int64 %0 %1
%3 = BUFFER float32 slot=0 size=%2
%4 = BUFFER float32 slot=1 size=%2
%5 = LOAD float32 %4 view=[(%0,8):(8,1)]
%6 = NEG float32 %5
%7 = STORE void %3 %6 view=[(%0,8):(8,1)]
%8 = SINK void %7 axes=(g0:%0,g1:8)
"""
TEXTS = {
    "row_sum": ROW_SUM,
    "row_max": ROW_MAX,
    "transpose": TRANSPOSE,
    "matmul": MATMUL,
    "two_sums": TWO_SUMS,
    "symbolic": SYMBOLIC,
}


def read_ast(text: str) -> Node:
    """A verified AST from its text without the header."""
    ast = parse_node("ir 1\n" + text.lstrip("\n"))
    verify(ast, Spec.KERNEL)
    return ast


@pytest.fixture(scope="session")
def ast_of() -> Callable[[str], Node]:
    """The AST of a text, or of one of the names above."""
    return lambda text: read_ast(TEXTS.get(text, text))


@pytest.fixture(scope="session")
def kernel_of() -> Callable[[str], Kernel]:
    """The kernel of a text, or of one of the names above."""
    return lambda text: from_ast(read_ast(TEXTS.get(text, text)))


@pytest.fixture(scope="session")
def axes_of() -> Callable[[Kernel], list[str]]:
    """The axes and pads of a kernel, one a line."""
    return lambda kernel: [*map(str, kernel.axes), *map(str, kernel.pads)]


@pytest.fixture(scope="session")
def ast_text_of() -> Callable[[str], str]:
    """The canonical text of one of the ASTs above."""
    return lambda name: print_node(read_ast(TEXTS[name]))
