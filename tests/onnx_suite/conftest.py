"""Counts what the backend suite reports: kernels per test, and tests that pass without any."""

from collections import Counter
from pathlib import Path

import pytest

LEAST = 1_570  # passing tests that launch kernels; fewer fail the run
LAUNCHES = "kernels launched"


def pytest_addoption(parser):
    parser.addoption("--onnx-device", default="llvm", help="the device of the backend suite")
    parser.addoption("--onnx-report", type=Path, help="write a line for each test to this file")
    parser.addoption("--onnx-part", default="1/1", help="run a part of the suite alone: 2/4")


class _Report:
    """What was reported so far; the controller's, where tests run in several processes."""

    def __init__(self, config):
        self.config = config
        self.lines, self.counts = [], Counter()

    def pytest_runtest_logreport(self, report):
        properties = dict(report.user_properties)
        if report.when != "call" or "onnx test" not in properties:
            return
        launches = properties.get(LAUNCHES)
        outcome = "excluded" if report.skipped else report.outcome
        if report.passed:
            outcome = "passed" if launches else "passed without kernels"
        self.counts[outcome] += 1
        self.lines.append(f"{properties['onnx test']} {outcome} {launches or 0}")

    def pytest_terminal_summary(self, terminalreporter):
        if not self.lines:
            return
        listed = ", ".join(f"{n} {outcome}" for outcome, n in sorted(self.counts.items()))
        device = self.config.getoption("--onnx-device")
        terminalreporter.write_line(f"onnx backend suite on {device}: {listed}")
        if self.is_short():
            terminalreporter.write_line(f"fewer than {LEAST} launched kernels and passed")
        path = self.config.getoption("--onnx-report")
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(["test outcome kernels", *sorted(self.lines)]) + "\n")

    def pytest_sessionfinish(self, session, exitstatus):
        if self.lines and self.is_short() and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def is_short(self):
        """Whether a whole run, not a selection, passed too few tests."""
        is_part = self.config.getoption("--onnx-part") != "1/1"
        is_whole = not (is_part or self.config.getoption("keyword"))
        return is_whole and self.counts["passed"] < LEAST


def pytest_collection_modifyitems(config, items):
    """Keep one part of the suite: neighbours share kernels, so parts are stretches."""
    part, parts = map(int, config.getoption("--onnx-part").split("/"))
    suite = [item for item in items if item.path.name == "suite.py"]
    start, stop = (len(suite) * edge // parts for edge in (part - 1, part))
    gone = set(suite[:start] + suite[stop:])
    if gone:
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]


def pytest_configure(config):
    is_asked = any("onnx_suite" in str(argument) for argument in config.args)
    if is_asked and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config))
