"""Terms that rules about integers are asked about; they need no z3."""

from itertools import product

from compiler.ir import BOOL, INT8, INT16, INT32, UINT8, UINT16, Op, const, intern
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


def applications(rule, dtype):
    """Each term of the families that the rule changes, with what it makes of it."""
    for op in rule.ops:
        for family in _FAMILIES.get(op, ()):
            for term in family(op, dtype):
                made = rule.apply(Builder(), term)
                if made is not None and made is not term:
                    yield term, made


_ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.IDIV, Op.MOD, Op.LT, Op.LE)
_FAMILIES = {
    **dict.fromkeys(_ARITHMETIC, (_terms,)),
    **dict.fromkeys((Op.EQ, Op.NE), (_terms, _bools)),
    **dict.fromkeys((Op.AND, Op.OR, Op.XOR), (_bits,)),
    **dict.fromkeys((Op.SHL, Op.SHR), (_shifts,)),
    **dict.fromkeys((Op.NEG, Op.NOT), (_twice,)),
    Op.WHERE: (_choices,),
    Op.CAST: (_casts,),
}
