"""Intervals of selections by a comparison: never wrong, and tight for clamps."""

import itertools

import pytest

from compiler.ir import BOOL, INT32, Op, bounds, const, intern

RANGES = [(-2, 2), (0, 3), (1, 1), (-3, -1)]


def variable(name, limits):
    return intern(Op.VAR, INT32, (), (name, *limits))


def values(node, numbers):
    if node.op is Op.VAR:
        return numbers[node.attr[0]]
    return int(node.value)


@pytest.mark.parametrize("limits", list(itertools.product(RANGES, RANGES)))
def test_what_a_comparison_of_the_two_selects_lies_in_its_interval(limits):
    x, y = variable("x", limits[0]), variable("y", limits[1])
    choices = (x, y, const(INT32, 0), const(INT32, 5))
    for first, second in itertools.product(choices, choices):
        chosen = intern(Op.WHERE, INT32, (intern(Op.LT, BOOL, (x, y)), first, second))
        low, high = bounds(chosen)
        for a in range(limits[0][0], limits[0][1] + 1):
            for b in range(limits[1][0], limits[1][1] + 1):
                numbers = {"x": a, "y": b}
                assert low <= values(first if a < b else second, numbers) <= high


def test_a_clamp_made_of_selections_has_the_interval_of_the_clamp():
    buffer = intern(Op.BUFFER, INT32, (), (0, 4))
    anything = intern(Op.READ, INT32, (buffer, const(INT32, 0)))

    def where_less(a, b, first, second):
        return intern(Op.WHERE, INT32, (intern(Op.LT, BOOL, (a, b)), first, second))

    zero, top = const(INT32, 0), const(INT32, 39)
    low = where_less(zero, anything, anything, zero)
    assert bounds(low) == (0, 2**31 - 1)
    assert bounds(where_less(low, top, low, top)) == (0, 39)
