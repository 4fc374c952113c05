"""No rule is without a proof."""

import ast
from pathlib import Path

import pytest
from covered import FLOATS, PROVEN, TESTED

from compiler.rules import ALL

TESTS = Path(__file__).parents[1]


def test_every_rule_is_proven():
    assert sorted(rule.name for rule in ALL) == sorted({*PROVEN, *FLOATS})


@pytest.mark.parametrize("test", sorted(set(TESTED.values())))
def test_the_property_test_of_a_rule_exists(test):
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
