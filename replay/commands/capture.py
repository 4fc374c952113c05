"""`replay capture`: run any Python program, and record every kernel that it compiles."""

from pathlib import Path

import click

from replay.capture.capturing import Captured, capture
from replay.commands.common import with_errors
from replay.invocation import Invocation


@click.command(
    "capture", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--corpus",
    "corpus_path",
    type=click.Path(path_type=Path),
    required=True,
    help="Where records go; made if it is not there.",
)
@click.option(
    "--fail-empty", is_flag=True, help="Exit code 3 if the program compiled no kernel either."
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD ...")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation, corpus_path: Path, program: tuple[str, ...], *, fail_empty: bool
) -> int:
    """Run CMD, and record every kernel that it, its threads and its children compile.

    Exits with the program's own code, 128+n for signal n, or 3 if the program was fine but a record
    was not stored.
    """
    done = capture(program, corpus_path, invocation.environ, invocation.program)
    click.echo(_sentence(done, corpus_path), err=True)
    return done.exit_code or (3 if done.lost or (fail_empty and done.is_silent) else 0)


def _sentence(done: Captured, corpus_path: Path) -> str:
    if done.lost:
        records = "record" if done.lost == 1 else "records"
        return f"replay: warning: {done.lost} {records} lost: {done.why_lost}"
    if done.is_silent:
        return "replay: no kernel was captured; `replay doctor` says what capture cannot reach"
    return f"replay: {done.added} new records, {done.records} in {corpus_path}"
