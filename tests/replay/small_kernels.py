"""ASTs for the tests of numerics, as text: what a record holds."""

from compiler.compile import Compiled, compile_kernel
from compiler.ir import Node, parse_node
from compiler.target import REFERENCE, Target


def row_sum(rows: int, columns: int, *, terms: int | None = None, dtype: str = "float32") -> Node:
    """Sums of rows; of their first `terms` numbers only, if given."""
    mask = "" if terms is None else f"?(0:{rows},0:{terms})"
    return parse_node(f"""ir 1
%0 = BUFFER {dtype} slot=0 size={rows}
%1 = BUFFER {dtype} slot=1 size={rows * columns}
%2 = LOAD {dtype} %1 view=[({rows},{columns}):({columns},1){mask}]
%3 = REDUCE {dtype} %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[({rows},{columns}):(1,0)]
%5 = SINK void %4 axes=(g0:{rows},r0:{columns})
""")


def binary(
    op: str, size: int, *, dtype: str = "float32", out: str | None = None, swap: bool = False
) -> Node:
    """out[i] = op(a[i], b[i]), or op(b[i], a[i])."""
    first, second = (2, 1) if swap else (1, 2)
    return parse_node(f"""ir 1
%0 = BUFFER {out or dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot={first} size={size}
%2 = LOAD {dtype} %1 view=[({size}):(1)]
%3 = BUFFER {dtype} slot={second} size={size}
%4 = LOAD {dtype} %3 view=[({size}):(1)]
%5 = {op} {out or dtype} %2 %4
%6 = STORE void %0 %5 view=[({size}):(1)]
%7 = SINK void %6 axes=(g0:{size})
""")


def unary(
    op: str, size: int, *, dtype: str = "float32", out: str | None = None, inner: str = ""
) -> Node:
    """out[i] = op(a[i]), or op(inner(a[i]))."""
    middle = f"%3 = {inner} {dtype} %2\n" if inner else ""
    last = 3 if inner else 2
    return parse_node(f"""ir 1
%0 = BUFFER {out or dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot=1 size={size}
%2 = LOAD {dtype} %1 view=[({size}):(1)]
{middle}%{last + 1} = {op} {out or dtype} %{last}
%{last + 2} = STORE void %0 %{last + 1} view=[({size}):(1)]
%{last + 3} = SINK void %{last + 2} axes=(g0:{size})
""")


def move(
    size: int, view: str, *, target: str = "", dtype: str = "float32", source: int | None = None
) -> Node:
    """out[target view] = a[view]."""
    return parse_node(f"""ir 1
%0 = BUFFER {dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot=1 size={source or size}
%2 = LOAD {dtype} %1 view=[({size}):{view}]
%3 = STORE void %0 %2 view=[({size}):{target or "(1)"}]
%4 = SINK void %3 axes=(g0:{size})
""")


def symbolic(limit: int) -> Node:
    """out[i] = -a[i] for i < n, 1 <= n <= limit."""
    return parse_node(f"""ir 1
%0 = VAR int64 name=n lo=1 hi={limit}
%1 = BUFFER float32 slot=0 size=%0
%2 = BUFFER float32 slot=1 size=%0
%3 = LOAD float32 %2 view=[(%0):(1)]
%4 = NEG float32 %3
%5 = STORE void %1 %4 view=[(%0):(1)]
%6 = SINK void %5 axes=(g0:%0)
""")


def inverse_of_sums(limit: int) -> Node:
    """out[i] = 1 / sum over j < n of a[i, j], 0 <= n <= limit."""
    return parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size=8
%1 = CONST float32 value=0x1.0000000000000p+0 view=none
%2 = VAR int64 name=n lo=0 hi={limit}
%3 = CONST int64 value=8 view=none
%4 = MUL int64 %2 %3
%5 = BUFFER float32 slot=1 size=%4
%6 = LOAD float32 %5 view=[(8,%2):(%2,1)]
%7 = REDUCE float32 %6 op=ADD axes=(r0)
%8 = FDIV float32 %1 %7
%9 = STORE void %0 %8 view=[(8,%2):(1,0)]
%10 = SINK void %9 axes=(g0:8,r0:%2)
""")


def fill(size: int, value: float) -> Node:
    """out[i] = value."""
    return parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size={size}
%1 = CONST float32 value={value.hex()} view=none
%2 = STORE void %0 %1 view=[({size}):(1)]
%3 = SINK void %2 axes=(g0:{size})
""")


def two_outputs(size: int) -> Node:
    """out0 = a + a, out1 = a * a."""
    return parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size={size}
%1 = BUFFER float32 slot=2 size={size}
%2 = LOAD float32 %1 view=[({size}):(1)]
%3 = ADD float32 %2 %2
%4 = STORE void %0 %3 view=[({size}):(1)]
%5 = BUFFER float32 slot=1 size={size}
%6 = MUL float32 %2 %2
%7 = STORE void %5 %6 view=[({size}):(1)]
%8 = SINK void %4 %7 axes=(g0:{size})
""")


def compiled(ast: Node, target: Target = REFERENCE) -> Compiled:
    return compile_kernel(ast, target)
