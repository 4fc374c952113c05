"""Arithmetic on scalars in languages like C. No decision about it is taken here, except that signed
integers wrap, which C leaves undefined.
"""

from collections.abc import Mapping

from compiler.backends.c_like import Function, Handler, Text, call
from compiler.ir import BOOL, UINT32, UINT64, Kind, Node, Op, bounds
from compiler.ir.bounds import full

_INFIX: Mapping[Op, str] = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.FDIV: "/", Op.IDIV: "/", Op.MOD: "%", Op.AND: "&",
    Op.OR: "|", Op.XOR: "^", Op.SHL: "<<", Op.SHR: ">>", Op.LT: "<", Op.LE: "<=", Op.EQ: "==",
    Op.NE: "!=",
}  # fmt: skip
_WRAPPING = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.SHL))
_BEYOND: Mapping[Op, str] = {Op.MAX: ">", Op.MIN: "<"}


def is_proven(node: Node) -> bool:
    """Whether the interval of an index shows that it does not wrap."""
    return bounds(node) != full(node)


def _infix(function: Function, node: Node) -> None:
    sources = function.text
    a, b = [sources[child] for child in node.src]
    text = f"{a} {_INFIX[node.op]} {b}"
    if node.op in _WRAPPING and node.dtype.is_int and not is_proven(node):
        text = _wrapping(function, node, f"{a}", _INFIX[node.op], f"{b}")
    function.define(node, _narrow(function, node, text))


def _wrapping(function: Function, node: Node, a: str, sign: str, b: str) -> str:
    """Modulo 2**bits: as unsigned numbers of 32 bits at least, where C defines it."""
    dtype = node.dtype
    if dtype.kind is Kind.UINT and dtype.bits >= 32:
        return f"{a} {sign} {b}"
    wide = function.type_name(UINT64 if dtype.bits == 64 else UINT32)
    text = f"({wide}){a} {sign} ({wide}){b}"
    return text if dtype.bits < 32 else f"({function.type(node)})({text})"


def _narrow(function: Function, node: Node, text: str) -> Text:
    """C computes in 32 bits at least: bring a result back to its 8 or 16 bits."""
    if node.dtype.is_int and node.dtype.bits < 32:
        return Text(f"({function.type(node)})({text})")
    return Text(text)


def _neg(function: Function, node: Node) -> None:
    value = function.operand(node.src[0])
    text = f"-{value}"
    if node.dtype.is_int and not is_proven(node):
        text = _wrapping(function, node, "0", "-", f"{value}")
    function.define(node, _narrow(function, node, text))


def _not(function: Function, node: Node) -> None:
    sign = "!" if node.dtype is BOOL else "~"
    function.define(node, _narrow(function, node, f"{sign}{function.operand(node.src[0])}"))


def _extreme(function: Function, node: Node) -> None:
    """max(a, b) is `a if a > b or a != a else b`."""
    a, b = [function.operand(child) for child in node.src]
    first = f"{a} {_BEYOND[node.op]} {b}"
    if node.dtype.is_float:
        first += f" || {a} != {a}"
    function.define(node, Text(f"({first}) ? {a} : {b}"))


def _where(function: Function, node: Node) -> None:
    cond, a, b = [function.operand(child) for child in node.src]
    function.define(node, Text(f"{cond} ? {a} : {b}"))


def _cast(function: Function, node: Node) -> None:
    value, origin = function.operand(node.src[0]), node.src[0].dtype
    if node.dtype is BOOL and origin is not BOOL:
        text = Text(f"{value} != {function.dialect.literal(origin, 0)}")
    else:
        text = Text(f"({function.type(node)}){value}")
    function.define(node, text)


def _mulacc(function: Function, node: Node) -> None:
    if node.dtype.is_float:
        call(function, node)
        return
    a, b, c = [function.operand(child) for child in node.src]
    wide = function.type_name(UINT64 if node.dtype.bits == 64 else UINT32)
    total = f"({wide}){a} * ({wide}){b} + ({wide}){c}"
    function.define(node, Text(f"({function.type(node)})({total})"))


def _bitcast(function: Function, node: Node) -> None:
    origin, value = node.src[0].dtype, function.operand(node.src[0])
    kind, before = function.type(node), function.type(node.src[0])
    if node.dtype is BOOL or kind == before:
        function.text[node] = value
        return
    if _is_integer_like(function, node) and _is_integer_like(function, node.src[0]):
        function.define(node, Text(f"({kind}){value}"))  # C may have made an int of a short
        return
    is_widened = origin.bits < 32 and not origin.is_float
    bits = f"({before}){value}" if is_widened else value.text
    function.define(node, Text(function.dialect.bits_as(kind, bits), is_atom=True))


def _is_integer_like(function: Function, node: Node) -> bool:
    return node.dtype.is_int or function.type(node) == "ushort"


SCALARS: Mapping[Op, Handler] = {
    **dict.fromkeys(_INFIX, _infix),
    Op.NEG: _neg,
    Op.NOT: _not,
    Op.MAX: _extreme,
    Op.MIN: _extreme,
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.MULACC: _mulacc,
    Op.BITCAST: _bitcast,
}
