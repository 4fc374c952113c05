"""Rewrite rules by topic, and their builder. To add one: a function, and a Rule in its RULES."""

from compiler.rules import algebra, compare, divmod, fold, gates
from compiler.rules.builder import Application, Constants, Rule, RulesByOp, index_by_op
from compiler.rules.builder import Builder as RuleBuilder
from compiler.rules.decompose import FUNCTIONS, LOWERINGS, Lowering, combine, identity, lower
from compiler.rules.fold import cast_value, constant_of
from compiler.rules.halves import FORMATS, multiply_add, narrow
from compiler.rules.linear import Terms, build_linear, exact_interval, exact_linear, linear
from compiler.rules.transcendental import DECOMPOSITIONS, MAX_ULP

ALL = (
    *fold.RULES,  # constants first: the other rules may then take one operand to be no constant
    *algebra.RULES,
    *divmod.RULES,
    *compare.RULES,
    *gates.RULES,
)
_BY_OP = index_by_op(ALL)


class Builder(RuleBuilder):
    """A builder that folds by every rule."""

    __slots__ = ()

    def __init__(self, limit: int | None = None, trace: list[Application] | None = None) -> None:
        super().__init__(_BY_OP, limit, trace)


__all__ = [
    "ALL",
    "DECOMPOSITIONS",
    "FORMATS",
    "FUNCTIONS",
    "LOWERINGS",
    "MAX_ULP",
    "Application",
    "Builder",
    "Constants",
    "Lowering",
    "Rule",
    "RuleBuilder",
    "RulesByOp",
    "Terms",
    "build_linear",
    "cast_value",
    "combine",
    "constant_of",
    "exact_interval",
    "exact_linear",
    "identity",
    "index_by_op",
    "linear",
    "lower",
    "multiply_add",
    "narrow",
]
