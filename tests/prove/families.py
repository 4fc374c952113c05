"""Terms that rules are asked about; they need no z3."""

import math
import struct
from itertools import product

from compiler.ir import BOOL, FLOAT64, INT8, INT16, INT32, UINT8, UINT16, Op, const, intern
from compiler.rules import Builder

RANGES = {
    INT8: ((-128, 127), (0, 20), (0, 3), (-5, 30)),
    UINT8: ((0, 255), (0, 20), (0, 3), (7, 60)),
}
CONSTANTS = (0, 1, 2, 3, 4, 6, 12, 127)


def _variables(dtype):
    for lo, hi in RANGES[dtype]:
        yield intern(Op.VAR, dtype, (), ("x", lo, hi))


def _inner(x, y, dtype):
    """Terms that rules look into."""
    yield x
    for c in CONSTANTS[1:7]:
        for op in (Op.ADD, Op.MUL, Op.IDIV, Op.MOD):
            yield intern(op, dtype, (x, const(dtype, c)))
        scaled = intern(Op.MUL, dtype, (x, const(dtype, c)))
        yield intern(Op.ADD, dtype, (scaled, y))
        for d in (1, 2, 5):
            yield intern(Op.ADD, dtype, (scaled, const(dtype, d)))


def _terms(op, dtype):
    y = intern(Op.VAR, dtype, (), ("y", 0, 3))
    out = BOOL if op in (Op.LT, Op.LE, Op.EQ, Op.NE) else dtype
    for x in _variables(dtype):
        inner = list(dict.fromkeys(_inner(x, y, dtype)))
        for value, c in product(inner, CONSTANTS):
            yield intern(op, out, (value, const(dtype, c)))
        for value in inner:
            yield intern(op, out, (value, y))
            yield intern(op, out, (value, x))
            yield intern(op, out, (y, value))
        yield intern(op, out, (const(dtype, 3), x))


def _bools(op, _):
    x = intern(Op.LT, BOOL, tuple(intern(Op.VAR, INT8, (), (name, -9, 9)) for name in "xy"))
    return [intern(op, BOOL, (x, const(BOOL, value))) for value in (True, False)]


def _leaves(dtype):
    """Variables and constants of `dtype`, and some truths."""
    x, y, z = (intern(Op.VAR, dtype, (), (name, *RANGES[dtype][0])) for name in "xyz")
    limits = (0, 1, 5, int(dtype.highest), int(dtype.lowest))
    less, other = intern(Op.LT, BOOL, (x, y)), intern(Op.LT, BOOL, (y, z))
    return [x, y, *[const(dtype, c) for c in limits]], [less, other, *_TRUTHS]


_TRUTHS = (const(BOOL, True), const(BOOL, False))


def _choices(op, dtype):
    (x, y, zero, *_), bools = _leaves(dtype)
    nested = [intern(op, dtype, (c, a, b)) for c in bools[:2] for a, b in ((x, y), (y, zero))]
    for condition in [*bools, intern(Op.NOT, BOOL, (bools[0],))]:
        for pair in product([x, y, zero, *nested], repeat=2):
            yield intern(op, dtype, (condition, *pair))
        for pair in product(bools, repeat=2):
            yield intern(op, BOOL, (condition, *pair))


def _bits(op, dtype):
    values, bools = _leaves(dtype)
    for kind, operands in ((dtype, values), (BOOL, bools)):
        inner = [intern(op, kind, pair) for pair in product(operands[:2], repeat=2)]
        for pair in product([*operands, *inner], repeat=2):
            yield intern(op, kind, pair)


def _shifts(op, dtype):
    for pair in product(_leaves(dtype)[0], repeat=2):
        yield intern(op, dtype, pair)


def _twice(op, dtype):
    values, bools = _leaves(dtype)
    for value in [*values, *(bools if op is Op.NOT else ())]:
        yield intern(op, value.dtype, (intern(op, value.dtype, (value,)),))


def _casts(op, dtype):
    values, bools = _leaves(dtype)
    for source in (values[0], bools[0]):
        for inner, outer in product((INT8, UINT8, INT16, UINT16, INT32), repeat=2):
            yield intern(op, outer, (intern(op, inner, (source,)),))
            yield intern(op, outer, (intern(Op.VAR, outer, (), ("x", 0, 9)),))


def _folded(op, dtype):
    """The op on numbers at the ends of the dtype and around zero, and on truths."""
    low, high = int(dtype.lowest), int(dtype.highest)
    ends = dict.fromkeys((low, low + 1, -1 % (high + 1), 0, 1, 3, 7, high))
    numbers = [const(dtype, number) for number in ends]
    for out, src in _operands(op, dtype, numbers):
        yield intern(op, out, src)


def _operands(op, dtype, numbers):
    """The dtype of the result and the operands."""
    pairs, truths = list(product(numbers, repeat=2)), list(product(_TRUTHS, repeat=2))
    if op is Op.WHERE:
        return [(dtype, (c, a, b)) for c in _TRUTHS for a, b in pairs]
    if op is Op.CAST:
        outer = (INT8, UINT8, INT16, UINT16, INT32)
        return [(out, (a,)) for a in (*numbers, *_TRUTHS) for out in outer]
    if op in (Op.NEG, Op.NOT):
        return [(a.dtype, (a,)) for a in (*numbers, *(_TRUTHS if op is Op.NOT else ()))]
    found = [(BOOL if op in (Op.LT, Op.LE, Op.EQ, Op.NE) else dtype, pair) for pair in pairs]
    if op in (Op.AND, Op.OR, Op.XOR):
        found += [(BOOL, pair) for pair in truths]
    return found


def _vectors(op, dtype):
    """Vectors of equal and of other lanes, and lanes of vectors."""
    x, y = (intern(Op.VAR, dtype, (), (name, *RANGES[dtype][0])) for name in "xy")
    pairs = [(x, y, x, y), (x, x, x, x), (y, x, x, x)]
    made = [intern(Op.STACK, dtype.vec(4), lanes) for lanes in pairs]
    made.append(intern(Op.SPLAT, dtype.vec(4), (x,)))
    lanes = [intern(Op.LANE, dtype, (v,), (i,)) for v in made for i in range(4)]
    if op is Op.SHUFFLE:
        picks = ((1, 0), (3, 3), (0, 1, 2, 3))
        shuffled = [intern(op, dtype.vec(len(p)), (v,), (p,)) for v in made for p in picks]
        yield from [*shuffled, intern(op, dtype.vec(2), tuple(made[:2]), ((5, 2),))]
    elif op is Op.LANE:
        yield from lanes
    else:
        yield from made
        for start in range(0, len(lanes), 4):
            yield intern(op, dtype.vec(4), tuple(lanes[start : start + 4]))
            yield intern(op, dtype.vec(4), tuple(reversed(lanes[start : start + 4])))


_FLOAT_NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 1e-7, 60000.0, math.inf, -math.inf, math.nan)


def _floats(op, dtype):
    """The op on any number and a constant, on itself, and on constants alone."""
    x, y = (intern(Op.BUFFER, dtype, (), (slot, 1)) for slot in (1, 2))
    numbers = [const(dtype, n if dtype is FLOAT64 else _nearest(n)) for n in _FLOAT_NUMBERS]
    if op in _FLOAT_UNARY:
        for value in (x, intern(op, dtype, (x,)), *numbers):
            yield intern(op, dtype, (value,))
    if op in _FLOAT_BINARY:
        out = BOOL if op in (Op.LT, Op.LE, Op.EQ, Op.NE) else dtype
        inner = intern(op, dtype, (x, numbers[4])) if out is dtype else x
        for a, b in product([x, y, inner, *numbers], repeat=2):
            yield intern(op, out, (a, b))
    if op is Op.WHERE:
        less = intern(Op.LT, BOOL, (x, y))
        for condition in (less, intern(Op.NOT, BOOL, (less,)), const(BOOL, True)):
            for a, b in product([x, y, intern(op, dtype, (less, x, y)), numbers[1]], repeat=2):
                yield intern(op, dtype, (condition, a, b))


def _nearest(number):
    """A number that float16 has."""
    return struct.unpack("e", struct.pack("e", number))[0]


def applications(rule, dtype):
    """Each term of the families that the rule changes, with what it makes of it."""
    for op in rule.ops:
        for family in (_floats,) if dtype.is_float else _FAMILIES.get(op, ()):
            for term in family(op, dtype):
                made = rule.apply(Builder(), term)
                if made is not None and made is not term:
                    yield term, made


_FLOAT_UNARY = (Op.NEG, Op.SQRT)
_FLOAT_BINARY = (
    *(Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.MAX, Op.MIN),
    *(Op.LT, Op.LE, Op.EQ, Op.NE),
)
_ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.IDIV, Op.MOD, Op.LT, Op.LE)
_FAMILIES = {
    **dict.fromkeys(_ARITHMETIC, (_terms, _folded)),
    **dict.fromkeys((Op.EQ, Op.NE), (_terms, _bools, _folded)),
    **dict.fromkeys((Op.AND, Op.OR, Op.XOR), (_bits, _folded)),
    **dict.fromkeys((Op.SHL, Op.SHR), (_shifts, _folded)),
    **dict.fromkeys((Op.NEG, Op.NOT), (_twice, _folded)),
    **dict.fromkeys((Op.LANE, Op.SHUFFLE, Op.STACK), (_vectors,)),
    Op.WHERE: (_choices, _folded),
    Op.CAST: (_casts, _folded),
}
