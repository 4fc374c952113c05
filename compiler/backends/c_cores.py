"""Tensor cores in languages like C: a function for each core that a kernel uses.

Fragments arrive as vectors, their elements in the order of the core's layouts; numbers of 16 bits
may be `ushort` or `half`.
"""

from compiler.backends.c_like import Dialect, Function, Text
from compiler.ir import Node, Op

_WMMA = Op.WMMA


def wmma(function: Function, node: Node) -> None:
    """One product of a core, added to the total so far."""
    name, dialect = node.attr[0], function.dialect
    if name not in dialect.cores:
        raise function.refuse(node, f"core {name} has no spelling in {dialect.language}")
    operands = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(f"{_symbol(name)}({operands})", is_atom=True))


def called(program: Node, dialect: Dialect) -> dict[str, Node]:
    """The cores of a program that have a spelling, by name, each with the first of its products."""
    found: dict[str, Node] = {}
    for node in program.src:
        if node.op is _WMMA and node.attr[0] in dialect.cores:
            found.setdefault(node.attr[0], node)
    return found


def function_of(node: Node, dialect: Dialect) -> str:
    """The function that the products of a core call."""
    name, type_name = node.attr[0], dialect.type_name
    parameters = [
        f"{type_name(child.dtype)} {letter}" for child, letter in zip(node.src, "abc", strict=True)
    ]
    head = f"static {type_name(node.dtype)} {_symbol(name)}({', '.join(parameters)}) {{"
    return "\n".join([head, *[f"  {line}" for line in dialect.cores[name].body], "}"])


def _symbol(core: str) -> str:
    return core.replace(".", "_")
