"""`replay run`: compile a corpus again, say what changed, and let a policy decide."""

import click

from replay.commands.common import corpus_option, selection_options, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.commands.reporting import report_option, writers_of
from replay.invocation import Invocation
from replay.session import Request, replay_corpus


@click.command("run")
@click.argument("keys", nargs=-1)
@corpus_option
@selection_options
@replaying_options
@report_option
@click.pass_obj
@with_errors
def command(invocation: Invocation, request: Request, reports: tuple[str, ...]) -> int:
    """Compile the records of a corpus again, or those that KEYS name, and say what changed.

    Exit code 0: passed; 1: the gate failed; 2: usage; 3: nothing could be replayed; 130: ctrl-C.
    """
    write = writers_of(reports)
    with showing_progress() as progress:
        report = replay_corpus(request, invocation, progress)
    return write(report, invocation)
