"""Elementwise ops as LLVM instructions. To add one: a line in one of the tables.

No decision about arithmetic is taken here: a shift by the width, a division by zero and a
conversion out of range are undefined in LLVM, and the passes leave none in a PROGRAM.
"""

from collections.abc import Mapping

from compiler.ir import Kind, Op

# one instruction over operands of one type
BINARY: Mapping[tuple[Op, Kind], str] = {
    (Op.ADD, Kind.INT): "add",
    (Op.ADD, Kind.UINT): "add",
    (Op.ADD, Kind.FLOAT): "fadd",
    (Op.SUB, Kind.INT): "sub",
    (Op.SUB, Kind.UINT): "sub",
    (Op.SUB, Kind.FLOAT): "fsub",
    (Op.MUL, Kind.INT): "mul",
    (Op.MUL, Kind.UINT): "mul",
    (Op.MUL, Kind.FLOAT): "fmul",
    (Op.FDIV, Kind.FLOAT): "fdiv",
    (Op.IDIV, Kind.INT): "sdiv",
    (Op.IDIV, Kind.UINT): "udiv",
    (Op.MOD, Kind.INT): "srem",
    (Op.MOD, Kind.UINT): "urem",
    (Op.SHL, Kind.INT): "shl",
    (Op.SHL, Kind.UINT): "shl",
    (Op.SHR, Kind.INT): "ashr",
    (Op.SHR, Kind.UINT): "lshr",
    (Op.MAX, Kind.BOOL): "or",
    (Op.MIN, Kind.BOOL): "and",
    **{(op, kind): text for op, text in ((Op.AND, "and"), (Op.OR, "or"), (Op.XOR, "xor"))
       for kind in (Kind.BOOL, Kind.INT, Kind.UINT)},
}  # fmt: skip
MAY_WRAP = frozenset((Op.ADD, Op.SUB, Op.MUL))  # nsw or nuw where the interval proves it

COMPARE: Mapping[tuple[Op, Kind], str] = {
    **{(op, Kind.FLOAT): f"fcmp {text}" for op, text in (
        (Op.LT, "olt"), (Op.LE, "ole"), (Op.EQ, "oeq"), (Op.NE, "une"))},
    **{(op, Kind.INT): f"icmp {text}" for op, text in (
        (Op.LT, "slt"), (Op.LE, "sle"), (Op.EQ, "eq"), (Op.NE, "ne"))},
    **{(op, kind): f"icmp {text}" for kind in (Kind.UINT, Kind.BOOL) for op, text in (
        (Op.LT, "ult"), (Op.LE, "ule"), (Op.EQ, "eq"), (Op.NE, "ne"))},
}  # fmt: skip

# a call of llvm.NAME.TYPE over operands of one type
INTRINSICS: Mapping[tuple[Op, Kind], str] = {
    (Op.SQRT, Kind.FLOAT): "sqrt",
    (Op.TRUNC, Kind.FLOAT): "trunc",
    (Op.FLOOR, Kind.FLOAT): "floor",
    (Op.CEIL, Kind.FLOAT): "ceil",
    (Op.RINT, Kind.FLOAT): "roundeven",
    (Op.MULACC, Kind.FLOAT): "fma",
    (Op.MAX, Kind.INT): "smax",
    (Op.MAX, Kind.UINT): "umax",
    (Op.MIN, Kind.INT): "smin",
    (Op.MIN, Kind.UINT): "umin",
    # native only: the portable decompositions leave none of these
    (Op.EXP2, Kind.FLOAT): "exp2",
    (Op.LOG2, Kind.FLOAT): "log2",
    (Op.SIN, Kind.FLOAT): "sin",
    (Op.COS, Kind.FLOAT): "cos",
    (Op.TAN, Kind.FLOAT): "tan",
    (Op.TANH, Kind.FLOAT): "tanh",
    (Op.POW, Kind.FLOAT): "pow",
}

# functions of the C library, called lane by lane
LIBRARY: Mapping[tuple[Op, str], str] = {
    (Op.ERF, "float32"): "erff",
    (Op.ERF, "float64"): "erf",
}

# max(a, b) is `a if a > b or a != a else b`
SELECTED: Mapping[Op, str] = {Op.MAX: "ogt", Op.MIN: "olt"}

# conversions that change no value's meaning; bool is an unsigned integer of one bit
WIDEN: Mapping[Kind, str] = {Kind.INT: "sext", Kind.UINT: "zext", Kind.BOOL: "zext"}
TO_FLOAT: Mapping[Kind, str] = {Kind.INT: "sitofp", Kind.UINT: "uitofp", Kind.BOOL: "uitofp"}
FROM_FLOAT: Mapping[Kind, str] = {Kind.INT: "fptosi", Kind.UINT: "fptoui"}
