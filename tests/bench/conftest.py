"""A kernel, and programs of it that are right, refused, endless or deadly."""

from dataclasses import replace

import pytest

from compiler import compile_kernel, parse_node
from compiler.kernel import parse_opts
from compiler.target import LLVM

DOUBLED = """ir 1
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(4096):(1)]
%3 = ADD float32 %2 %2
%4 = STORE void %0 %3 view=[(4096):(1)]
%5 = SINK void %4 axes=(g0:4096)
"""
_BODY = "define void @NAME(ptr %data0, ptr %data1, i64 %lo, i64 %hi) {\nentry:\n"


@pytest.fixture(scope="session")
def ast():
    return parse_node(DOUBLED)


@pytest.fixture(scope="session")
def program_of(ast):
    """The program under opts, as a text."""
    return lambda opts: compile_kernel(ast, LLVM, opts=parse_opts(opts)).program


@pytest.fixture(scope="session")
def broken(program_of):
    """Programs of the same kernel with other sources."""
    whole = program_of("")

    def of(name, body):
        return replace(whole, name=name, source=_BODY.replace("NAME", name) + body + "}\n")

    return {
        "refused": of("refused", "  no instruction\n"),
        "endless": of("endless", "  br label %again\nagain:\n  br label %again\n"),
        "deadly": of("deadly", "  store volatile i32 1, ptr inttoptr (i64 8 to ptr)\n  ret void\n"),
    }
