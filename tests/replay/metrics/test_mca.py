"""Cycles by llvm-mca, where it is installed."""

import os

import pytest

from replay.metrics.mca import cycles_of, find_tool, use_tool

CHAIN = "k:\n.L1:\n\tvmulps\t%xmm0, %xmm1, %xmm1\n\tdecq\t%rax\n\tjne\t.L1\n\tretq\n"
LONGER = CHAIN.replace("\tdecq", "\tvmulps\t%xmm0, %xmm1, %xmm1\n\tdecq")


@pytest.fixture
def tool():
    path = find_tool(os.environ)
    if path is None:
        pytest.skip("llvm-mca is not installed")
    use_tool(path.encode())
    yield path
    use_tool(b"")


def test_a_longer_chain_of_dependences_takes_longer(tool):
    short, long = cycles_of([CHAIN, LONGER])
    assert 3 < short < 6
    assert 1.5 < long / short < 2.5


def test_cycles_do_not_depend_on_what_is_measured_beside(tool):
    assert cycles_of([CHAIN, CHAIN])[0] == cycles_of([CHAIN, CHAIN])[1]


def test_outer_loops_are_not_counted_again(tool):
    nested = CHAIN.replace("k:\n", "k:\n.L0:\n").replace("\tretq", "\tjmp\t.L0\n\tretq")
    assert cycles_of([nested, CHAIN]) == cycles_of([CHAIN, nested])


def test_an_instruction_that_it_does_not_know_gives_none(tool):
    assert cycles_of([CHAIN, CHAIN.replace("vmulps", "vmulwhat")]) == [None, None]


def test_without_the_tool_nothing_is_known(tmp_path):
    assert find_tool({"PATH": str(tmp_path)}) is None
    assert cycles_of([CHAIN]) == [None]


def test_a_tool_with_a_version_in_its_name_is_found_the_newest_first(tmp_path):
    for version in (14, 19):
        (tmp_path / f"llvm-mca-{version}").touch()
    assert find_tool({"PATH": f"/nowhere:{tmp_path}"}) == str(tmp_path / "llvm-mca-19")


def test_a_tool_that_says_nonsense_gives_none(tmp_path):
    script = tmp_path / "llvm-mca"
    script.write_text("#!/bin/sh\necho '{}'\n")
    script.chmod(0o755)
    use_tool(str(script).encode())
    try:
        assert cycles_of([CHAIN]) == [None]
    finally:
        use_tool(b"")
