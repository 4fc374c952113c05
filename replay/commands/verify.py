"""`replay verify`: run the kernels of a corpus, and check every element that they write."""

from dataclasses import replace

import click

from replay.commands.common import corpus_option, selection_options, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.errors import ReplayError
from replay.invocation import Invocation
from replay.outcome import FAILED_RUNS, Numerics, Result
from replay.phases.plan import Extent
from replay.reports.model import Report, short
from replay.session import Request, replay_corpus
from replay.text import one_line, printable


@click.command("verify")
@click.argument("keys", nargs=-1)
@corpus_option
@selection_options
@replaying_options
@click.pass_obj
@with_errors
def command(invocation: Invocation, request: Request) -> int:
    """Run the kernels of a corpus, or those that KEYS name, against the reference.

    Prints one line a kernel. Exit code 1 if any is wrong or came to no end, 3 if none could be
    run.
    """
    whole = replace(request, verify=Extent.ALL, determinism=Extent.NONE)
    with showing_progress() as progress:
        report = replay_corpus(whole, invocation, progress)
    for result in report.results:
        click.echo(_line(result))
        if result.numerics in FAILED_RUNS and result.log:
            click.echo(printable(result.log))
    click.echo(_summary(report))
    if report.is_interrupted:
        return 130
    if not any(result.numerics not in (None, Numerics.SKIPPED) for result in report.results):
        raise ReplayError(f"corpus {report.corpus}: no kernel could be run; see above why")
    return int(any(report.numerics.get(verdict.value) for verdict in FAILED_RUNS))


def _line(result: Result) -> str:
    verdict = result.numerics.value if result.numerics else f"not run: {result.outcome.value}"
    reason = result.numerics_reason or result.reason or ""
    weak = " (weak)" if result.is_weak else ""
    start = f"{short(result.key)}  {verdict:<9}{weak}  {result.target:<18}"
    return f"{start}  {one_line(f'{result.name}  {reason}')}"


def _summary(report: Report) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in report.numerics.items())
    weak = f", {report.weak} weak" if report.weak else ""
    return f"{len(report.results)} kernels: {counts or 'none was run'}{weak}"
