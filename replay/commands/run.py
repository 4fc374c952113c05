"""`replay run`: compile a corpus again, say what changed, and let a policy decide."""

from collections.abc import Callable
from pathlib import Path

import click

from replay.commands.common import corpus_option, selection_options, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.errors import ReplayError, UsageError
from replay.invocation import Invocation
from replay.reports import FORMATS, find_format
from replay.reports.model import Report
from replay.reports.terminal import render as render_terminal
from replay.session import Request, replay_corpus


@click.command("run")
@click.argument("keys", nargs=-1)
@corpus_option
@selection_options
@replaying_options
@click.option("--report", "reports", multiple=True, metavar="FMT:PATH", help="Also write this.")
@click.pass_obj
@with_errors
def command(invocation: Invocation, request: Request, reports: tuple[str, ...]) -> int:
    """Compile the records of a corpus again, or those that KEYS name, and say what changed.

    Exit code 0: passed; 1: the gate failed; 2: usage; 3: nothing could be replayed; 130: ctrl-C.
    """
    writers = [_writer(text) for text in reports]
    with showing_progress() as progress:
        report = replay_corpus(request, invocation, progress)
    for write in writers:
        write(report)
    if not any(text.endswith(":-") for text in reports):
        is_colored = invocation.is_terminal and not invocation.environ.get("NO_COLOR")
        click.echo(render_terminal(report, is_colored=is_colored), nl=False, color=is_colored)
    if report.exit_code == 3:
        raise ReplayError(f"corpus {request.corpus}: no record could be replayed; see above why")
    return report.exit_code


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
