"""Where a report goes: to files in the formats that were asked for, and to the terminal."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from replay.errors import ReplayError, UsageError
from replay.invocation import Invocation
from replay.reports import FORMATS, find_format
from replay.reports.model import Report
from replay.reports.terminal import render as render_terminal

report_option = click.option(
    "--report", "reports", multiple=True, metavar="FMT:PATH", help="Also write this."
)


def writers_of(reports: Sequence[str]) -> Callable[[Report, Invocation], int]:
    """What writes a report everywhere and gives its exit code; refused now if it cannot."""
    writers = [_writer(text) for text in reports]

    def write(report: Report, invocation: Invocation) -> int:
        if not any(text.endswith(":-") for text in reports):
            is_colored = invocation.is_terminal and not invocation.environ.get("NO_COLOR")
            text = render_terminal(report, is_colored=is_colored)
            click.echo(text, nl=False, color=is_colored)
        for each in writers:  # one that cannot be written does not hide what was found
            each(report)
        if report.exit_code == 3:
            raise ReplayError(f"corpus {report.corpus}: {report.why_not}")
        return report.exit_code

    return write


def _writer(text: str) -> Callable[[Report], None]:
    """Turn FMT:PATH into what writes it; a wrong one is refused before any work is done."""
    name, _, path = text.partition(":")
    render = find_format(name)
    if render is None or not path:
        known = ", ".join(known for known, _ in FORMATS)
        raise UsageError(f"--report {text!r}: use FMT:PATH with FMT one of {known}")
    if path != "-" and not Path(path).absolute().parent.is_dir():
        raise UsageError(f"--report {text!r}: its directory does not exist; make it first")

    def write(report: Report) -> None:
        assert render is not None
        if path == "-":
            click.echo(render(report), nl=False)
            return
        try:
            Path(path).write_text(render(report), encoding="utf-8")
        except OSError as error:
            raise ReplayError(f"report {path}: {error.strerror}; give another path") from None

    return write
