"""The node tests that ship in the onnx package, run by its own rules, with launches counted."""

from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import onnx.backend.test.case.node as node_cases
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from compiler.frontend.launches import counting_launches
from compiler.frontend.onnx import Backend

EXCLUSIONS = Path(__file__).with_name("exclusions.txt")


def all_cases():
    """Every node test of the installed onnx, by the name that it has on a CPU."""
    return {f"{case.name}_cpu": case for case in load_model_tests(kind="node")}


def cases_of(*modules):
    """The tests of some operators alone: making all takes ten seconds."""
    for module in modules:
        import_module(f"onnx.backend.test.case.node.{module}")
    return {f"{case.name}_cpu": case for case in node_cases._NodeTestCases}  # noqa: SLF001  # onnx offers no other way to a part of them


def launches_of(case, device):
    """Run one case and compare as onnx does; how many kernels that took."""
    model = Backend.prepare(case.model, device)
    with counting_launches() as launches:
        for inputs, wanted in case.data_sets:
            found = model.run([_array(item) for item in inputs])
            expected = [_array(item) for item in wanted]
            Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
    return launches.count


def _array(item):
    return numpy_helper.to_array(item) if isinstance(item, TensorProto) else item


@lru_cache(maxsize=1)
def exclusions():
    """Pattern -> reason, in the order of the file."""
    found, reason = {}, ""
    for line in EXCLUSIONS.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            assert reason, f"{line}: stands below no reason"
            found[line] = reason
    return found


def reason_of(name):
    """Why a test is excluded; None for the others."""
    matching = (why for pattern, why in exclusions().items() if fnmatchcase(name, pattern))
    return next(matching, None)
