"""Names inside a generated function."""

from compiler.backends.names import PREFIXES, Names
from compiler.ir import Op


def test_a_name_that_a_value_has_is_given_to_nothing_else():
    names = Names()
    assert [names.value(Op.ADD) for _ in range(2)] == ["add0", "add1"]
    assert [names.unique(name) for name in ("add1", "add1", "add2")] == ["add1_2", "add1_3", "add2"]
    assert [names.unique(name) for name in ("add", "add01")] == ["add", "add01"]
    assert names.value(Op.ADD) == "add3"


def test_no_prefix_of_a_value_is_another_one_and_digits():
    prefixes = set(PREFIXES.values())
    assert not [name for name in prefixes if name.rstrip("0123456789") in prefixes - {name}]
