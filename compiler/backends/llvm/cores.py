"""Tensor cores of CPUs as LLVM instructions. To add one: a function, and a line in WRITERS."""

from collections.abc import Callable, Mapping

from compiler.backends.llvm.function import Function
from compiler.backends.llvm.types import type_text
from compiler.ir import Node

Operands = tuple[str, str, str]
Writer = Callable[[Function, Node, Operands], None]
_ROWS = _LANES = 16


def wmma(function: Function, node: Node) -> None:
    """One product of a core, added to the total so far."""
    writer = WRITERS.get(node.attr[0])
    if writer is None:
        raise function.refuse(node, f"core {node.attr[0]} is none of this CPU")
    a, b, c = [function.text[child] for child in node.src]
    writer(function, node, (a, b, c))


def _outer(function: Function, node: Node, operands: Operands) -> None:
    """Each row of the result: a row of the total, plus one element of a times all of b."""
    a, b, c = operands
    total, row_type = type_text(node.dtype), type_text(node.src[1].dtype)
    symbol = f"@llvm.fma.v{_LANES}f32"
    function.declared[f"{row_type} {symbol}({row_type}, {row_type}, {row_type})"] = None
    rows: list[str] = []
    for row in range(_ROWS):
        before = _shuffled(function, total, c, range(row * _LANES, (row + 1) * _LANES))
        factor = _shuffled(function, row_type, a, [row] * _LANES)
        given = f"{row_type} {factor}, {row_type} {b}, {row_type} {before}"
        rows.append(function.step("row", f"call {row_type} {symbol}({given})"))
    width = _LANES
    while len(rows) > 1:
        kind = f"<{width} x float>"
        mask = _mask(range(2 * width))
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [
            function.step("rows", f"shufflevector {kind} {x}, {kind} {y}, {mask}") for x, y in pairs
        ]
        width *= 2
    function.text[node] = rows[0]


def _shuffled(function: Function, kind: str, vector: str, lanes: "range | list[int]") -> str:
    return function.step("part", f"shufflevector {kind} {vector}, {kind} poison, {_mask(lanes)}")


def _mask(lanes: "range | list[int]") -> str:
    return f"<{len(lanes)} x i32> <{', '.join([f'i32 {lane}' for lane in lanes])}>"


def _dpbf16ps(function: Function, node: Node, operands: Operands) -> None:
    a, b, c = operands
    pairs = _repeated(function, type_text(node.src[0].dtype), a, "<32 x bfloat>")
    symbol = "@llvm.x86.avx512bf16.dpbf16ps.512"
    function.declared[f"<16 x float> {symbol}(<16 x float>, <32 x bfloat>, <32 x bfloat>)"] = None
    given = f"<16 x float> {c}, <32 x bfloat> {pairs}, <32 x bfloat> {b}"
    function.assign(node, f"call <16 x float> {symbol}({given})")


def _vpdpbusd(function: Function, node: Node, operands: Operands) -> None:
    a, b, c = operands
    bytes_ = _repeated(function, type_text(node.src[0].dtype), a, "<64 x i8>")
    symbol = "@llvm.x86.avx512.vpdpbusd.512"
    function.declared[f"<16 x i32> {symbol}(<16 x i32>, <64 x i8>, <64 x i8>)"] = None
    given = f"<16 x i32> {c}, <64 x i8> {bytes_}, <64 x i8> {b}"
    function.assign(node, f"call <16 x i32> {symbol}({given})")


def _repeated(function: Function, kind: str, few: str, whole: str) -> str:
    """The 32 bits of a few elements in all 16 lanes."""
    bits = function.step("bits", f"bitcast {kind} {few} to i32")
    first = function.step("lane", f"insertelement <16 x i32> poison, i32 {bits}, i64 0")
    mask = "<16 x i32> zeroinitializer"
    lanes = function.step("lanes", f"shufflevector <16 x i32> {first}, <16 x i32> poison, {mask}")
    return function.step("lanes", f"bitcast <16 x i32> {lanes} to {whole}")


WRITERS: Mapping[str, Writer] = {
    "cpu.outer16x16.f32": _outer,
    "cpu.dpbf16ps": _dpbf16ps,
    "cpu.vpdpbusd": _vpdpbusd,
}
