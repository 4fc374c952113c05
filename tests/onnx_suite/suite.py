"""ONNX's whole backend suite, one test each. Not collected by name: run by the tox env `onnx`.

An excluded test must fail: one that starts to pass has to leave exclusions.txt.
"""

import pytest

from compiler.errors import CompilerError
from tests.onnx_suite.node_cases import all_cases, launches_of, reason_of

CASES = all_cases()


def _parameter(name):
    why = reason_of(name)
    return pytest.param(name, marks=[_failing(why)] if why else [], id=name)


def _failing(why):
    """An excluded test fails with an error of ours or a difference, not with just anything."""
    cannot_compare = why.startswith("the suite cannot compare")
    errors = TypeError if cannot_compare else (CompilerError, AssertionError)
    return pytest.mark.xfail(reason=why, strict=True, raises=errors)


@pytest.mark.parametrize("name", [_parameter(name) for name in CASES])
def test_node(name, request, record_property):
    record_property("onnx test", name)
    launches = launches_of(CASES[name], request.config.getoption("--onnx-device"))
    record_property("kernels launched", launches)
