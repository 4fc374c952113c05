"""ONNX's whole backend suite, one test each. Not collected by name: run by the tox env `onnx`.

An excluded test must fail: one that starts to pass has to leave exclusions.txt.
"""

import pytest

from tests.onnx_suite.node_cases import all_cases, launches_of, reason_of

CASES = all_cases()


def _parameter(name):
    why = reason_of(name)
    marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
    return pytest.param(name, marks=marks, id=name)


@pytest.mark.parametrize("name", [_parameter(name) for name in CASES])
def test_node(name, request, record_property):
    record_property("onnx test", name)
    launches = launches_of(CASES[name], request.config.getoption("--onnx-device"))
    record_property("kernels launched", launches)
