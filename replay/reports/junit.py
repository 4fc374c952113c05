"""The report as JUnit XML: one test case a record, for CI systems that show tests."""

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from replay.compare.diff import unified
from replay.outcome import NO_ANSWER, Outcome, Result
from replay.reports.model import Report, figures, metrics_text, more_about, short, trouble

_SHOWN_LINES = 60


def render(report: Report) -> str:
    """The report as one XML document."""
    suite = TestSuite("replay")
    suite.hostname = ""
    for name, figure in figures(report).items():
        suite.add_property(name, figure)
    refused = frozenset(report.gate.refused)
    cases = [_case(report, each, is_refused=each.key in refused) for each in report.results]
    suite.add_testcases(cases)  # together: it counts all there are each time
    document = JUnitXml("replay")
    document.add_testsuite(suite)
    # Not by update_statistics: it adds `skipped`, which the schema of Jenkins has in suites alone.
    document.tests, document.time = suite.tests, suite.time
    document.failures, document.errors = suite.failures, suite.errors
    text: bytes = document.tostring()  # type: ignore[no-untyped-call]  # junitparser's
    return text.decode() + "\n"


def _case(report: Report, result: Result, *, is_refused: bool) -> TestCase:
    name = f"{result.name} {short(result.key)}"
    case = TestCase(_printable(name), f"replay.{_printable(result.target)}")
    if result.outcome is Outcome.SKIPPED:
        case.result = [Skipped(_printable(result.reason) or "skipped")]
    elif result.outcome in NO_ANSWER:
        entry = Error(f"{result.outcome.value}: {_printable(result.reason)}", result.outcome.value)
        entry.text = _printable(f"{result.log}\n{more_about(report, result)}")
        case.result = [entry]
    elif is_refused:
        case.result = [_failure(report, result)]
    return case


def _failure(report: Report, result: Result) -> Failure:
    entry = Failure(f"{result.kind}: {_printable(trouble(result))}", result.outcome.value)
    body = metrics_text(result)
    if result.old is not None and result.new is not None:
        body += unified(result.old.source, result.new.source, max_lines=_SHOWN_LINES)
    entry.text = _printable(f"{body}\n{more_about(report, result)}")
    return entry


def _printable(text: str | None) -> str:
    """Text without the characters that XML does not allow."""
    if not text or text.replace("\n", "").replace("\t", "").isprintable():
        return text or ""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
