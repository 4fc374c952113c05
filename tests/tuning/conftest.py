"""A kernel to search schedules for."""

import pytest

from compiler import parse_node

DOUBLED = """ir 1
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(4096):(1)]
%3 = ADD float32 %2 %2
%4 = STORE void %0 %3 view=[(4096):(1)]
%5 = SINK void %4 axes=(g0:4096)
"""


@pytest.fixture(scope="session")
def ast():
    return parse_node(DOUBLED)
