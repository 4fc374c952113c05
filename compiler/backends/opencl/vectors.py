"""Vectors of OpenCL C. None of bools: a vector is compared and selected lane by lane."""

from collections.abc import Mapping

from compiler.backends.c_like import Function, Handler, Text, define_read, result
from compiler.backends.opencl.cores import wmma
from compiler.backends.opencl.ops import CALLS, call
from compiler.backends.opencl.pixels import read_pixel
from compiler.ir import BOOL, Kind, Node, Op

_CONST, _MAX = Op.CONST, Op.MAX

_INFIX: Mapping[Op, str] = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.FDIV: "/", Op.IDIV: "/", Op.MOD: "%", Op.AND: "&",
    Op.OR: "|", Op.XOR: "^", Op.SHL: "<<", Op.SHR: ">>",
}  # fmt: skip
_WRAPPING = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.SHL))
_BEYOND: Mapping[Op, str] = {Op.MAX: ">", Op.MIN: "<"}


def _read(function: Function, node: Node) -> None:
    if node.src[0].op is Op.IMAGE:
        read_pixel(function, node)
        return
    count = node.dtype.count
    if node.dtype.scalar is BOOL:
        function.type(node)  # refuses
    buffer, offset = function.operand(node.src[0]), function.operand(node.src[1])
    define_read(function, node, f"vload{count}(0, {buffer} + {offset})")


def _splat(function: Function, node: Node) -> None:
    text = Text(f"({function.type(node)})({function.operand(node.src[0]).text})")
    if node.src[0].op is _CONST:
        function.text[node] = text
    else:
        function.define(node, text)


def _stack(function: Function, node: Node) -> None:
    lanes = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(f"({function.type(node)})({lanes})"))


def _shuffle(function: Function, node: Node) -> None:
    """Lanes of one vector have a name of their own; those of two are put together."""
    vectors, count = [function.operand(child) for child in node.src], node.src[0].dtype.count
    if len(vectors) == 1:
        lanes = "".join([f"{lane:x}" for lane in node.attr[0]])
        function.define(node, Text(f"{vectors[0]}.s{lanes}", is_atom=True))
        return
    lanes = ", ".join([f"{vectors[lane // count]}.s{lane % count:x}" for lane in node.attr[0]])
    function.define(node, Text(f"({function.type(node)})({lanes})", is_atom=True))


def _infix(function: Function, node: Node) -> None:
    a, b = [function.operand(child) for child in node.src]
    sign = _INFIX[node.op]
    if node.op in _WRAPPING and node.dtype.kind is Kind.INT:
        function.define(node, _wrapping(function, node, a, sign, b))
    else:
        function.define(node, Text(f"{a} {sign} {b}"))


def _wrapping(function: Function, node: Node, a: Text, sign: str, b: Text) -> Text:
    """Signed lanes as unsigned ones, for which C defines what happens beyond the limits."""
    kind = function.type(node)
    return Text(f"as_{kind}(as_u{kind}({a.text}) {sign} as_u{kind}({b.text}))", is_atom=True)


def _neg(function: Function, node: Node) -> None:
    value = function.operand(node.src[0])
    zero = Text(f"({function.type(node)})(0)")
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
        first = f"({a} {_BEYOND[node.op]} {b}) | ({a} != {a})"
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
    kind = function.type(node)
    value = function.operand(node.src[0])
    function.define(node, Text(f"convert_{kind}({value.text})", is_atom=True))


def _bitcast(function: Function, node: Node) -> None:
    kind, value = function.type(node), function.operand(node.src[0])
    function.define(node, Text(f"as_{kind}({value.text})", is_atom=True))


VECTOR_HANDLERS: Mapping[Op, Handler] = {
    **dict.fromkeys(_INFIX, _infix),
    **dict.fromkeys(CALLS, call),
    Op.READ: _read,
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
    Op.WMMA: wmma,
}
