"""Constant folding: an op on constants is the constant that every backend would compute."""

import math
import struct
from collections.abc import Callable, Mapping

from compiler.ir import DType, Kind, Node, Number, Op, const, truncated_div, wrap
from compiler.rules.builder import Builder, Constants, Rule
from compiler.rules.fused import fused

_CAST, _BITCAST, _WHERE, _SHL, _SHR = Op.CAST, Op.BITCAST, Op.WHERE, Op.SHL, Op.SHR
_MULACC = Op.MULACC

_CONST, _SPLAT = Op.CONST, Op.SPLAT


def constant_of(node: Node) -> Number | None:
    """The number of a CONST, or of a SPLAT of one."""
    if node.op is _SPLAT:
        node = node.src[0]
    if node.op is not _CONST or node.attr[1] is not None:
        return None
    value: Number = node.attr[0]
    return value


def fold_constants(b: Builder, node: Node) -> Node | None:
    """op(constants) = constant"""
    values: list[Number] = []
    for child in node.src:
        value = constant_of(child)
        if value is None:
            return None
        values.append(value)
    dtype = node.src[-1].dtype.scalar
    result = _evaluate(node.op, dtype, node.dtype.scalar, values)
    return None if result is None else const(node.dtype, result)


def _evaluate(op: Op, source: DType, target: DType, values: list[Number]) -> Number | None:
    if op is _CAST:
        return cast_value(source, target, values[0])
    if op is _BITCAST:
        return _bitcast_value(source, target, values[0])
    if op is _WHERE:
        return values[1] if values[0] else values[2]
    if source.kind is Kind.FLOAT:
        if op is _MULACC:
            return fused(target, *values)
        function = _FLOAT.get(op)
    else:
        function = (_BOOL if source.kind is Kind.BOOL else _INT).get(op)
    if function is None:
        return None
    if op in (_SHL, _SHR):
        return function(values[0], values[1], source.bits)
    return function(*values)


def cast_value(source: DType, target: DType, value: Number) -> Number:
    """The conversion of docs/ir.md: wraps, saturates, NaN -> 0, or rounds once."""
    if target.kind is Kind.BOOL:
        return value != 0
    if target.kind is Kind.FLOAT:
        return _to_float(value)
    if source.kind is Kind.FLOAT:
        if math.isnan(value):
            return 0
        low, high = int(target.lowest), int(target.highest)
        return low if value <= low else high if value >= high else int(value)
    return wrap(target, int(value))


def _to_float(value: Number) -> float:
    return float(value)


_FORMATS = {
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}


def _bitcast_value(source: DType, target: DType, value: Number) -> Number | None:
    if source.name not in _FORMATS or target.name not in _FORMATS or value != value:
        return None  # bool, bfloat16; NaNs have many bit patterns
    result = struct.unpack(
        "<" + _FORMATS[target.name], struct.pack("<" + _FORMATS[source.name], value)
    )[0]
    return None if result != result else result


def _fdiv(a: float, b: float) -> float:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _mul(a: float, b: float) -> float:
    return a * b


def _maximum(a: Number, b: Number) -> Number:
    return a if a > b or a != a else b


def _minimum(a: Number, b: Number) -> Number:
    return a if a < b or a != a else b


def _integral(function: Callable[[float], int]) -> Callable[[float], float]:
    def apply(a: float) -> float:
        if not math.isfinite(a) or a == 0:
            return a
        return math.copysign(float(function(a)), a)

    return apply


def _mod(a: int, b: int) -> int:
    return 0 if b == 0 else a - truncated_div(a, b) * b


def _shl(a: int, b: int, bits: int) -> int:
    return a << b if 0 <= b < bits else 0


def _shr(a: int, b: int, bits: int) -> int:
    if 0 <= b < bits:
        return a >> b
    return -1 if a < 0 else 0


_ORDER: Mapping[Op, Callable[..., Number]] = {
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.MAX: _maximum,
    Op.MIN: _minimum,
}
_FLOAT: Mapping[Op, Callable[..., Number]] = {
    **_ORDER,
    Op.ADD: lambda a, b: (
        a + b
    ),  # the double result rounds to float32 or float16 as one rounding would
    Op.SUB: lambda a, b: a - b,
    Op.MUL: _mul,
    Op.FDIV: _fdiv,
    Op.SQRT: lambda a: math.sqrt(a) if a >= 0 else (a if a == 0 else math.nan),
    Op.NEG: lambda a: -a,
    Op.TRUNC: _integral(math.trunc),
    Op.FLOOR: _integral(math.floor),
    Op.CEIL: _integral(math.ceil),
    Op.RINT: _integral(round),
}
_INT: Mapping[Op, Callable[..., Number]] = {
    **_ORDER,
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.MULACC: lambda a, b, c: a * b + c,
    Op.IDIV: truncated_div,
    Op.MOD: _mod,
    Op.NEG: lambda a: -a,
    Op.NOT: lambda a: ~a,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.XOR: lambda a, b: a ^ b,
    Op.SHL: _shl,
    Op.SHR: _shr,
}
_BOOL: Mapping[Op, Callable[..., Number]] = {
    **_ORDER,
    Op.NOT: lambda a: not a,
    Op.AND: lambda a, b: a and b,
    Op.OR: lambda a, b: a or b,
    Op.XOR: lambda a, b: a != b,
}
_OPS = tuple(dict.fromkeys((*_FLOAT, *_INT, *_BOOL, Op.CAST, Op.BITCAST, Op.WHERE)))
RULES = (Rule("fold-constants", _OPS, fold_constants, constants=Constants.ALL),)
