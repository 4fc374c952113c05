"""docs/symbolic.md shows what the code does."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "symbolic.md"


def test_the_examples_of_the_page_run():
    result = doctest.testfile(str(PAGE), module_relative=False, verbose=False)
    assert result.attempted == 13
    assert result.failed == 0
