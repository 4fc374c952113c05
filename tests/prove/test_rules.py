"""Rules about integers, proven by z3: what a rule makes of a term is equal for every value.

A rule is asked about every term of a family (constants, ranges and dtypes are those that decide
its side conditions); each answer is proven over bit-vectors of the dtype, where sums wrap and
division truncates. The laws behind the division rules are proven for all integers, too.
"""

from itertools import product

import pytest
from covered import PROVEN

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: extra `prove`")

from logic import counterexample  # noqa: E402  # needs z3

from compiler.ir import BOOL, INT8, UINT8, Op, const, intern  # noqa: E402  # after the skip
from compiler.rules import ALL, Builder  # noqa: E402  # after the skip

RULES = {rule.name: rule for rule in ALL}
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


def _bools(op):
    x = intern(Op.LT, BOOL, tuple(intern(Op.VAR, INT8, (), (name, -9, 9)) for name in "xy"))
    return [intern(op, BOOL, (x, const(BOOL, value))) for value in (True, False)]


def _applications(rule, dtype):
    """Each term of the family that the rule changes, with what it makes of it."""
    for op in rule.ops:
        if op not in _INTEGER_OPS:
            continue
        bools = _bools(op) if op in (Op.EQ, Op.NE) else []
        for term in [*_terms(op, dtype), *bools]:
            made = rule.apply(Builder(), term)
            if made is not None and made is not term:
                yield term, made


_INTEGER_OPS = (
    Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.IDIV, Op.MOD, Op.LT, Op.LE, Op.EQ, Op.NE,
)  # fmt: skip


def _prove(name, dtype):
    proven = 0
    for before, after in _applications(RULES[name], dtype):
        found = counterexample(before, after)
        assert found is None, f"{name}: {before!r} = {after!r} is wrong for {found}"
        proven += 1
    assert proven, f"{name} changes no term of the family"


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [INT8, UINT8], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", PROVEN)
def test_a_rule_keeps_the_value_of_every_term_of_8_bits(name, dtype):
    _prove(name, dtype)


# --- the laws, for all integers ---


def _law(name):
    x, y, q = z3.Ints("x y q")
    return {
        "within one multiple": lambda c: z3.Implies(
            z3.And(q >= 0, q * c <= x, x < (q + 1) * c), z3.And(x / c == q, x % c == x - q * c)
        ),
        "split multiples": lambda c: z3.Implies(
            z3.And(x >= 0, y >= 0), z3.And((c * x + y) / c == x + y / c, (c * x + y) % c == y % c)
        ),
        "common factor": lambda c: z3.Implies(
            z3.And(x >= 0, y >= 0, y < 5),
            z3.And((5 * x + y) / (5 * c) == x / c, (5 * x + y) % (5 * c) == 5 * (x % c) + y),
        ),
        "nested": lambda c: z3.Implies(
            x >= 0,
            z3.And(
                (x / c) / 7 == x / (7 * c),
                (x % (7 * c)) % c == x % c,
                (x % (7 * c)) / c == (x / c) % 7,
            ),
        ),
        "compare": lambda c: z3.And(
            (c * x + y < q) == (x < -((y - q) / c)), (x <= y) == (x < y + 1)
        ),
    }[name]


@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 10, 96])
@pytest.mark.parametrize(
    "name", ["within one multiple", "split multiples", "common factor", "nested", "compare"]
)
def test_a_law_holds_for_all_integers(name, divisor):
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(z3.Not(_law(name)(divisor)))
    assert solver.check() == z3.unsat
