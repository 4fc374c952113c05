"""Every mutant is a patch that applies; the catalogue has all kinds of faults."""

import ast
from pathlib import Path

import pytest

from replay.calibrate import MUTANTS, Fault

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_once_and_is_python(mutant):
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert source.count(mutant.before) == 1
    changed = source.replace(mutant.before, mutant.after)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_every_kind_of_fault_has_a_mutant():
    assert {mutant.fault for mutant in MUTANTS} == set(Fault)


def test_names_are_unique():
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names))
