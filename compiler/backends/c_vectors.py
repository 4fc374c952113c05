"""Vectors of languages like OpenCL C. None of bools: a vector is compared lane by lane.

How a language spells a vector, a lane or a conversion is said by its `Dialect`.
"""

from collections.abc import Mapping

from compiler.backends.c_like import Function, Handler, Text, call, result
from compiler.ir import Kind, Node, Op

_CONST, _MAX = Op.CONST, Op.MAX

_INFIX: Mapping[Op, str] = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.FDIV: "/", Op.IDIV: "/", Op.MOD: "%", Op.AND: "&",
    Op.OR: "|", Op.XOR: "^", Op.SHL: "<<", Op.SHR: ">>",
}  # fmt: skip
_WRAPPING = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.SHL))
_BEYOND: Mapping[Op, str] = {Op.MAX: ">", Op.MIN: "<"}


def _splat(function: Function, node: Node) -> None:
    text = Text(function.vector(node, function.operand(node.src[0]).text))
    if node.src[0].op is _CONST:
        function.text[node] = text
    else:
        function.define(node, text)


def _stack(function: Function, node: Node) -> None:
    lanes = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(function.vector(node, lanes)))


def _shuffle(function: Function, node: Node) -> None:
    """Lanes of one vector have a name of their own; those of two are put together."""
    vectors, count = [function.operand(child) for child in node.src], node.src[0].dtype.count
    spelled = function.dialect.lanes
    if len(vectors) == 1:
        function.define(node, Text(f"{vectors[0]}.{spelled(node.attr[0])}", is_atom=True))
        return
    lanes = [f"{vectors[lane // count]}.{spelled((lane % count,))}" for lane in node.attr[0]]
    function.define(node, Text(function.vector(node, ", ".join(lanes)), is_atom=True))


def lane(function: Function, node: Node) -> None:
    """One lane of a vector: a scalar."""
    vector, name = function.operand(node.src[0]), function.dialect.lanes((node.attr[0],))
    function.define(node, Text(f"{vector}.{name}", is_atom=True))


def _infix(function: Function, node: Node) -> None:
    a, b = [function.operand(child) for child in node.src]
    sign = _INFIX[node.op]
    if node.op in _WRAPPING and node.dtype.kind is Kind.INT:
        function.define(node, _wrapping(function, node, a, sign, b))
    else:
        function.define(node, Text(f"{a} {sign} {b}"))


def _wrapping(function: Function, node: Node, a: Text, sign: str, b: Text) -> Text:
    """Signed lanes as unsigned ones, for which C defines what happens beyond the limits."""
    kind, bits_as = function.type(node), function.dialect.bits_as
    unsigned = [bits_as(f"u{kind}", operand.text) for operand in (a, b)]
    return Text(bits_as(kind, f" {sign} ".join(unsigned)), is_atom=True)


def _neg(function: Function, node: Node) -> None:
    value = function.operand(node.src[0])
    zero = Text(function.vector(node, "0"))
    if node.dtype.kind is Kind.INT:
        function.define(node, _wrapping(function, node, zero, "-", value))
    elif node.dtype.kind is Kind.UINT:
        function.define(node, Text(f"{zero} - {value}"))
    else:
        function.define(node, Text(f"-{value}"))


def _not(function: Function, node: Node) -> None:
    function.define(node, Text(f"~{function.operand(node.src[0])}"))


def _extreme(function: Function, node: Node) -> None:
    """max(a, b) is `a if a > b or a != a else b`."""
    a, b = [function.operand(child) for child in node.src]
    name = "max" if node.op is _MAX else "min"
    if node.dtype.is_float:
        either = function.dialect.either
        first = f"({a} {_BEYOND[node.op]} {b}) {either} ({a} != {a})"
        function.define(node, Text(f"select({b.text}, {a.text}, {first})", is_atom=True))
    else:
        function.define(node, Text(f"{name}({a.text}, {b.text})", is_atom=True))


def _mulacc(function: Function, node: Node) -> None:
    if node.dtype.is_float:
        call(function, node)
        return
    a, b, c = [function.operand(child) for child in node.src]
    if node.dtype.kind is Kind.INT:
        product = _wrapping(function, node, a, "*", b)
        function.define(node, _wrapping(function, node, product, "+", c))
    else:
        function.define(node, Text(f"{a} * {b} + {c}"))


def _cast(function: Function, node: Node) -> None:
    text = function.dialect.convert(function.type(node), function.operand(node.src[0]).text)
    function.define(node, Text(text, is_atom=True))


def _bitcast(function: Function, node: Node) -> None:
    text = function.dialect.bits_as(function.type(node), function.operand(node.src[0]).text)
    function.define(node, Text(text, is_atom=True))


VECTORS: Mapping[Op, Handler] = {
    **dict.fromkeys(_INFIX, _infix),
    Op.ACC: lambda function, node: None,  # named by its INIT
    Op.RESULT: result,
    Op.SPLAT: _splat,
    Op.STACK: _stack,
    Op.SHUFFLE: _shuffle,
    Op.NEG: _neg,
    Op.NOT: _not,
    Op.MAX: _extreme,
    Op.MIN: _extreme,
    Op.MULACC: _mulacc,
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
}
