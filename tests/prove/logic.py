"""The IR's ops in z3: integers as bit-vectors of their dtype's width, which wrap and truncate;
floats of IEEE 754, rounded to even, all NaNs one; vectors as tuples of their lanes.
"""

from functools import reduce

import z3

from compiler.ir import BOOL, Op, toposort


def term_of(root):
    """`root` as a z3 term, and what its variables' ranges say."""
    done, ranges = {}, []
    for node in toposort(root):
        done[node] = _one(node, [done[child] for child in node.src], ranges)
    return done[root], ranges


def _one(node, args, ranges):
    bits = node.dtype.bits
    if node.op in _VECTORS:
        return _VECTORS[node.op](node, args)
    if node.dtype.is_float:
        return _float(node, args)
    if node.op is Op.CONST:
        return (
            z3.BoolVal(bool(node.value)) if node.dtype is BOOL else z3.BitVecVal(node.value, bits)
        )
    if node.op is Op.VAR:
        name, low, high = node.attr
        variable = z3.BitVec(name, bits)
        at_least, at_most = (
            (low <= variable, variable <= high)
            if node.dtype.is_signed
            else (z3.UGE(variable, low), z3.ULE(variable, high))
        )
        ranges.extend((at_least, at_most))
        return variable
    if node.op is Op.CAST:
        return _cast(node, args[0])
    if node.src[0].dtype.is_float:
        return _COMPARISONS[node.op](*args)
    return _OPS[node.op](node.src[0].dtype.is_signed, *args)


_SORTS = {"float16": z3.Float16(), "float32": z3.Float32(), "float64": z3.Float64()}
_EVEN = z3.RNE()


def _float(node, args):
    sort = _SORTS[node.dtype.name]
    if node.op is Op.CONST:
        return z3.FPVal(node.value, sort)
    if node.op is Op.BUFFER:  # stands for any number
        return z3.FP(f"f{node.attr[0]}", sort)
    return _FLOATS[node.op](*args)


_FLOATS = {
    Op.ADD: lambda a, b: z3.fpAdd(_EVEN, a, b),
    Op.SUB: lambda a, b: z3.fpSub(_EVEN, a, b),
    Op.MUL: lambda a, b: z3.fpMul(_EVEN, a, b),
    Op.FDIV: lambda a, b: z3.fpDiv(_EVEN, a, b),
    Op.SQRT: lambda a: z3.fpSqrt(_EVEN, a),
    Op.NEG: z3.fpNeg,
    Op.MAX: lambda a, b: z3.If(z3.Or(z3.fpGT(a, b), z3.fpIsNaN(a)), a, b),
    Op.MIN: lambda a, b: z3.If(z3.Or(z3.fpLT(a, b), z3.fpIsNaN(a)), a, b),
    Op.WHERE: z3.If,
}
_COMPARISONS = {
    Op.LT: z3.fpLT,
    Op.LE: z3.fpLEQ,
    Op.EQ: z3.fpEQ,
    Op.NE: z3.fpNEQ,
}
_VECTORS = {
    Op.STACK: lambda node, args: tuple(args),
    Op.SPLAT: lambda node, args: tuple(args) * node.dtype.count,
    Op.LANE: lambda node, args: args[0][node.attr[0]],
    Op.SHUFFLE: lambda node, args: tuple([sum(args, ())[lane] for lane in node.attr[0]]),
}


def divide(is_signed, a, b):
    """Truncates like C; x/0 is 0, and the least number over -1 wraps."""
    return z3.If(b == 0, z3.BitVecVal(0, a.size()), a / b if is_signed else z3.UDiv(a, b))


def remainder(is_signed, a, b):
    """What truncating division leaves; x % 0 is 0."""
    zero = z3.BitVecVal(0, a.size())
    return z3.If(b == 0, zero, a - divide(is_signed, a, b) * b)


def _less(is_signed, a, b):
    if z3.is_bool(a):
        return z3.And(z3.Not(a), b)
    return a < b if is_signed else z3.ULT(a, b)


def _right(is_signed, a, b):
    return a >> b if is_signed else z3.LShR(a, b)


def _cast(node, a):
    source, bits = node.src[0].dtype, node.dtype.bits
    if source is BOOL:
        return z3.If(a, z3.BitVecVal(1, bits), z3.BitVecVal(0, bits))
    if bits <= source.bits:
        return z3.Extract(bits - 1, 0, a)
    extend = z3.SignExt if source.is_signed else z3.ZeroExt
    return extend(bits - source.bits, a)


_OPS = {
    Op.ADD: lambda _, a, b: a + b,
    Op.SUB: lambda _, a, b: a - b,
    Op.MUL: lambda _, a, b: a * b,
    Op.NEG: lambda _, a: -a,
    Op.IDIV: divide,
    Op.MOD: remainder,
    Op.LT: _less,
    Op.LE: lambda s, a, b: z3.Not(_less(s, b, a)),
    Op.EQ: lambda _, a, b: a == b,
    Op.NE: lambda _, a, b: a != b,
    Op.WHERE: lambda _, condition, a, b: z3.If(condition, a, b),
    Op.AND: lambda _, a, b: z3.And(a, b) if z3.is_bool(a) else a & b,
    Op.OR: lambda _, a, b: z3.Or(a, b) if z3.is_bool(a) else a | b,
    Op.XOR: lambda _, a, b: a != b if z3.is_bool(a) else a ^ b,
    Op.SHL: lambda _, a, b: a << b,
    Op.SHR: lambda s, a, b: _right(s, a, b),  # z3 shifts by the width or more as the IR does
    Op.NOT: lambda _, a: z3.Not(a) if z3.is_bool(a) else ~a,
    Op.MAX: lambda s, a, b: z3.If(_less(s, b, a), a, b),
    Op.MIN: lambda s, a, b: z3.If(_less(s, a, b), a, b),
}


def counterexample(before, after, limit_ms=20_000):
    """Values of the variables for which the two differ; None where there are none."""
    (left, ranges), (right, more) = term_of(before), term_of(after)
    solver = z3.Solver()
    solver.set("timeout", limit_ms)
    solver.add(reduce(z3.And, [*ranges, *more], _differ(left, right)))
    answer = solver.check()
    assert answer != z3.unknown, f"undecided in {limit_ms} ms: {before!r} = {after!r}"
    return solver.model() if answer == z3.sat else None


def _differ(left, right):
    if isinstance(left, tuple):
        return z3.Or(*[_differ(a, b) for a, b in zip(left, right, strict=True)])
    return z3.Not(left == right)  # of floats: bit by bit, but for NaNs
