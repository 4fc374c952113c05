"""Derivatives that are known for a value as a whole, beside those of the ops it is made of.

The parts of exp, sigmoid or softmax differentiate to something long, or to inf * 0, where one line
of mathematics is short and exact. The function that makes such a value says here what it knows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from compiler.frontend import graph
from compiler.frontend.graph import Kind, Value
from compiler.ir import Op

Rule: TypeAlias = Callable[[Value, Value], Value]  # gradient of a result, result -> of one input


@dataclass(frozen=True, slots=True)
class Formula:
    """What a value depends on, and how its gradient becomes that of each input.

    A rule gets the result as an argument: one that held it would keep it alive for ever.
    """

    inputs: tuple[Value, ...]
    rules: tuple[Rule, ...]


def known(result: Value, inputs: tuple[Value, ...], *rules: Rule) -> Value:
    """`result`, of which the gradient is now known by these rules, one for each input."""
    assert len(inputs) == len(rules)
    if result.kind is not Kind.CONST and result not in inputs:  # equal constants are one value
        result.formula = Formula(inputs, rules)
    return result


def known_slope(result: Value, x: Value, slope: Callable[[Value, Value], Value]) -> Value:
    """`result`, whose elements are functions of those of `x` with the derivative `slope(x, y)`."""
    return known(result, (x,), lambda g, y: weighed(g, slope(x, y)))


def weighed(g: Value, slope: Value) -> Value:
    """The gradient times a slope of its shape, see `zero_kept`."""
    return zero_kept(g, graph.elementwise(Op.MUL, g, slope))


def zero_kept(g: Value, part: Value) -> Value:
    """What the gradient `g` becomes, `part`; but 0 and not NaN where `g` is 0.

    An element that counts for nothing passes nothing on, though its slope be infinite. Only a NaN
    is replaced: the gradient of `part` is needed where `g` is 0, and finite, too.
    """
    if g.kind is Kind.CONST:
        return part
    zeros = graph.full(0, g.dtype, g.shape, g.device)
    is_nothing = graph.elementwise(Op.EQ, g, zeros)
    is_lost = graph.elementwise(Op.AND, is_nothing, graph.elementwise(Op.NE, part, part))
    none = graph.full(0, part.dtype, part.shape, part.device)
    return graph.elementwise(Op.WHERE, is_lost, none, part)


def formula_of(value: Value) -> Formula | None:
    """What is known about `value` as a whole."""
    return value.formula  # type: ignore[no-any-return]  # only `known` sets it
