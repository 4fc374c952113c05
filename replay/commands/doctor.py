"""`replay doctor`: what works here, and what to install for the rest."""

from textwrap import shorten

import click
import msgspec

from replay.capture.capturing import escapes
from replay.capture.environment import without_capture
from replay.commands.common import print_json, with_errors
from replay.invocation import Invocation
from replay.probe import findings

_BACKENDS = ("llvm", "opencl", "reference")
_WIDTH = 160
_NEEDED = "backend llvm"


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@with_errors
def command(invocation: Invocation, *, as_json: bool) -> int:
    """Say what works on this machine. Exit code 3 if not even the LLVM backend does."""
    found = findings(without_capture(invocation.environ), _BACKENDS)
    notes = escapes(invocation.environ)
    if as_json:
        print_json({"findings": msgspec.to_builtins(found), "notes": notes})
    else:
        for finding in found:
            mark = "ok     " if finding.works else "missing"
            detail = shorten(finding.detail, _WIDTH) if finding.works else finding.detail
            click.echo(f"{mark} {finding.name:<18} {' '.join(detail.split())}")
        for note in notes:
            click.echo(f"note    {note}")
    return 0 if all(finding.works for finding in found if finding.name == _NEEDED) else 3
