"""Rules about integers, proven by z3: what a rule makes of a term is equal for every value.

A rule is asked about every term of a family (constants, ranges and dtypes are those that decide
its side conditions); each answer is proven over bit-vectors of the dtype, where sums wrap and
division truncates. The laws behind the division rules are proven for all integers, too.
"""

import pytest
from covered import FLOATS, PROVEN
from families import applications

from compiler.ir import FLOAT16, FLOAT32, FLOAT64, INT8, UINT8
from compiler.rules import ALL

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: extra `prove`")
logic = pytest.importorskip("logic")

RULES = {rule.name: rule for rule in ALL}


def _prove(name, dtype):
    proven = 0
    for before, after in applications(RULES[name], dtype):
        found = logic.counterexample(before, after)
        assert found is None, f"{name}: {before!r} = {after!r} is wrong for {found}"
        proven += 1
    assert proven, f"{name} changes no term of the family"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [INT8, UINT8], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", PROVEN)
def test_a_rule_keeps_the_value_of_every_term_of_8_bits(name, dtype):
    _prove(name, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [FLOAT16, FLOAT32, FLOAT64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", FLOATS)
def test_a_rule_keeps_every_bit_of_floats(name, dtype):
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
