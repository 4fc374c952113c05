"""Values made of values: lanes, arithmetic, conversions. Plain ops are in the tables of ops.py."""

from collections.abc import Callable, Mapping
from functools import cache

from compiler.backends.llvm.function import Function
from compiler.backends.llvm.ops import (
    BINARY,
    COMPARE,
    FROM_FLOAT,
    INTRINSICS,
    LIBRARY,
    MAY_WRAP,
    SELECTED,
    TO_FLOAT,
    WIDEN,
)
from compiler.backends.llvm.types import literal, suffix, type_text, zero
from compiler.ir import BFLOAT16, BOOL, COMPARISONS, FLOAT16, DType, Kind, Node, Op, bounds
from compiler.ir.bounds import full

_CONST = Op.CONST

# --- vectors ---


def _splat(function: Function, node: Node) -> None:
    scalar, count, kind = node.src[0], node.dtype.count, type_text(node.dtype)
    element, value = type_text(scalar.dtype), function.text[scalar]
    if scalar.op is _CONST:
        function.text[node] = f"splat ({element} {value})"
        return
    first = function.step("lane", f"insertelement {kind} poison, {element} {value}, i64 0")
    mask = f"<{count} x i32> zeroinitializer"
    function.assign(node, f"shufflevector {kind} {first}, {kind} poison, {mask}")


def _stack(function: Function, node: Node) -> None:
    kind, element = type_text(node.dtype), type_text(node.dtype.scalar)
    text = function.text
    lanes = [text[child] for child in node.src]
    if all(child.op is _CONST for child in node.src):
        function.text[node] = "<" + ", ".join([f"{element} {lane}" for lane in lanes]) + ">"
        return
    value = "poison"
    for index, lane in enumerate(lanes):
        value = function.step(
            "stack", f"insertelement {kind} {value}, {element} {lane}, i64 {index}"
        )
    function.text[node] = value


def _lane(function: Function, node: Node) -> None:
    vector = node.src[0]
    value = function.text[vector]
    function.assign(node, f"extractelement {type_text(vector.dtype)} {value}, i64 {node.attr[0]}")


def _shuffle(function: Function, node: Node) -> None:
    kind, first = type_text(node.src[0].dtype), function.text[node.src[0]]
    second = function.text[node.src[1]] if len(node.src) == 2 else "poison"
    lanes = ", ".join([f"i32 {lane}" for lane in node.attr[0]])
    mask = f"<{len(node.attr[0])} x i32> <{lanes}>"
    function.assign(node, f"shufflevector {kind} {first}, {kind} {second}, {mask}")


# --- arithmetic ---


Handler = Callable[[Function, Node], None]


def _alu(function: Function, node: Node) -> None:
    """An op over sources of its own dtype."""
    _writer(node.op, node.dtype)(function, node)


@cache
def _writer(op: Op, dtype: DType) -> Handler:
    """How the first table that knows `op` says it; asked once per dtype."""
    key = (op, dtype.kind)
    if dtype.scalar is BFLOAT16:
        return _refusal("bfloat16 is only moved and bitcast, compute in float32")
    if dtype.scalar is FLOAT16 and op in _ROUNDS_TWICE:
        return _refusal(f"{op.name} of float16 rounds twice, compute in float32")
    if key in BINARY:
        return _infix(BINARY[key], dtype, proves=op in MAY_WRAP and dtype.is_int)
    if key in INTRINSICS:
        return _intrinsic(INTRINSICS[key], dtype)
    if op in SELECTED and dtype.is_float:
        return _select_extreme
    if (op, dtype.scalar.name) in LIBRARY:
        return _call_lanes
    return _refusal(f"{op.name} is not defined for {dtype}")


def _refusal(why: str) -> Handler:
    def refuse(function: Function, node: Node) -> None:
        raise function.refuse(node, why)

    return refuse


_ROUNDS_TWICE = frozenset(
    (Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF, Op.POW, Op.MULACC)
)


def _infix(name: str, dtype: DType, *, proves: bool) -> Handler:
    kind = type_text(dtype)
    flag = " nsw" if dtype.kind is Kind.INT else " nuw"

    def plain(function: Function, node: Node) -> None:
        text, (a, b) = function.text, node.src
        function.assign(node, f"{name} {kind} {text[a]}, {text[b]}")

    def index(function: Function, node: Node) -> None:
        text, (a, b) = function.text, node.src
        proof = "" if bounds(node) == full(node) else flag  # the interval says it does not wrap
        function.assign(node, f"{name}{proof} {kind} {text[a]}, {text[b]}")

    return index if proves and dtype.count == 1 else plain


def _intrinsic(name: str, dtype: DType) -> Handler:
    kind = type_text(dtype)
    symbol = f"@llvm.{name}.{suffix(dtype)}"

    def write(function: Function, node: Node) -> None:
        function.declared[f"{kind} {symbol}({', '.join([kind] * len(node.src))})"] = None
        text = function.text
        given = ", ".join([f"{kind} {text[child]}" for child in node.src])
        function.assign(node, f"call {kind} {symbol}({given})")

    return write


def _select_extreme(function: Function, node: Node) -> None:
    kind, bits = type_text(node.dtype), type_text(BOOL.vec(node.dtype.count))
    a, b = [function.text[child] for child in node.src]
    beyond = function.step("beyond", f"fcmp {SELECTED[node.op]} {kind} {a}, {b}")
    is_nan = function.step("isnan", f"fcmp uno {kind} {a}, {a}")
    first = function.step("first", f"or {bits} {beyond}, {is_nan}")
    function.assign(node, f"select {bits} {first}, {kind} {a}, {kind} {b}")


def _call_lanes(function: Function, node: Node) -> None:
    operand = function.text[node.src[0]]
    dtype, element = node.dtype, type_text(node.dtype.scalar)
    symbol = f"@{LIBRARY[node.op, dtype.scalar.name]}"
    function.declared[f"{element} {symbol}({element})"] = None
    if dtype.count == 1:
        function.assign(node, f"call {element} {symbol}({element} {operand})")
        return
    kind, result = type_text(dtype), "poison"
    for index in range(dtype.count):
        lane = function.step("lane", f"extractelement {kind} {operand}, i64 {index}")
        value = function.step("call", f"call {element} {symbol}({element} {lane})")
        result = function.step(
            "stack", f"insertelement {kind} {result}, {element} {value}, i64 {index}"
        )
    function.text[node] = result


def _neg(function: Function, node: Node) -> None:
    kind, value = type_text(node.dtype), function.text[node.src[0]]
    if node.dtype.is_float:
        function.assign(node, f"fneg {kind} {value}")
        return
    function.assign(node, f"sub {kind} {zero(node.dtype)}, {value}")


def _not(function: Function, node: Node) -> None:
    ones = "true" if node.dtype.scalar is BOOL else "-1"
    if node.dtype.count > 1:
        ones = f"splat ({type_text(node.dtype.scalar)} {ones})"
    function.assign(node, f"xor {type_text(node.dtype)} {function.text[node.src[0]]}, {ones}")


def _mulacc(function: Function, node: Node) -> None:
    if node.dtype.is_float:
        _alu(function, node)
        return
    kind = type_text(node.dtype)
    text = function.text
    a, b, c = [text[child] for child in node.src]
    product = function.step("product", f"mul {kind} {a}, {b}")
    function.assign(node, f"add {kind} {product}, {c}")


def _compare(function: Function, node: Node) -> None:
    a, b = node.src
    if a.dtype.scalar is BFLOAT16:
        raise function.refuse(node, "bfloat16 is only moved and bitcast, compute in float32")
    comparison = _comparison(node.op, a.dtype)
    function.assign(node, f"{comparison} {function.text[a]}, {function.text[b]}")


@cache
def _comparison(op: Op, dtype: DType) -> str:
    return f"{COMPARE[op, dtype.kind]} {type_text(dtype)}"


def _where(function: Function, node: Node) -> None:
    text = function.text
    cond, a, b = [text[child] for child in node.src]
    kind = type_text(node.dtype)
    function.assign(node, f"select {type_text(node.src[0].dtype)} {cond}, {kind} {a}, {kind} {b}")


# --- conversions ---


def _bitcast(function: Function, node: Node) -> None:
    source, target = type_text(node.src[0].dtype), type_text(node.dtype)
    value = function.text[node.src[0]]
    if source == target:
        function.text[node] = value
        return
    function.assign(node, f"bitcast {source} {value} to {target}")


def _cast(function: Function, node: Node) -> None:
    origin, dtype = node.src[0].dtype, node.dtype
    value, source, target = function.text[node.src[0]], type_text(origin), type_text(dtype)
    if BFLOAT16 in (origin.scalar, dtype.scalar) and origin is not dtype:
        raise function.refuse(node, "bfloat16 is only moved and bitcast, convert its bits")
    if origin.bits == 64 and dtype.scalar is FLOAT16:
        raise function.refuse(node, f"{origin} to float16 needs a library, round to odd first")
    if source == target and origin.kind is not Kind.BOOL:
        function.text[node] = value
    elif dtype.kind is Kind.BOOL:
        function.assign(node, f"{_not_zero(origin)} {source} {value}, {_zero_of(origin)}")
    else:
        function.assign(node, f"{_conversion(origin, dtype)} {source} {value} to {target}")


def _not_zero(origin: DType) -> str:
    return "fcmp une" if origin.is_float else "icmp ne"


def _zero_of(origin: DType) -> str:
    if origin.count > 1:
        return "zeroinitializer"
    return literal(origin, 0.0) if origin.is_float else literal(origin, 0)


def _conversion(origin: DType, dtype: DType) -> str:
    if dtype.is_float:
        if not origin.is_float:
            return TO_FLOAT[origin.kind]
        return "fpext" if dtype.bits > origin.bits else "fptrunc"
    if origin.is_float:
        return FROM_FLOAT[dtype.kind]
    return "trunc" if dtype.bits < origin.bits else WIDEN[origin.kind]


_TABLED = frozenset(op for table in (BINARY, INTRINSICS, LIBRARY) for op, _ in table)
ELEMENTWISE_HANDLERS: Mapping[Op, Handler] = {
    **dict.fromkeys((op for op in Op if op in _TABLED), _alu),
    **dict.fromkeys((op for op in Op if op in COMPARISONS), _compare),
    Op.SPLAT: _splat,
    Op.STACK: _stack,
    Op.LANE: _lane,
    Op.SHUFFLE: _shuffle,
    Op.NEG: _neg,
    Op.NOT: _not,
    Op.MULACC: _mulacc,
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
}
