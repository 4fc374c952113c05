"""`replay demo`: the main job end to end, on a real model."""

from pathlib import Path

import click

from replay.capture.environment import without_capture
from replay.commands.common import with_errors
from replay.demo import Setting, Voice, find_model, play, prepare
from replay.errors import ReplayError
from replay.invocation import Invocation
from replay.probe import findings

_NEEDED, _OPTIONAL = "llvm", "opencl"


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/demo"),
    show_default=True,
    help="Where its corpus, its copies of the compiler and its reports go.",
)
@click.pass_obj
@with_errors
def command(invocation: Invocation, out: Path) -> int:
    """Capture a model, replay it, and find a harmless and a harmful change of the compiler.

    Takes a minute or two. Exit code 1 if it did not come out as it should, 3 if it could not run.
    """
    environ = without_capture(invocation.environ)
    model, line = find_model((invocation.directory,))
    click.echo(f"model: {line}")
    setting = Setting(prepare(out), invocation.directory, model, _backends(environ), environ)
    is_colored = invocation.is_terminal and not invocation.environ.get("NO_COLOR")

    def title(text: str) -> None:
        click.echo()
        click.echo(click.style(text, bold=True) if is_colored else text)

    return play(Voice(click.echo, title), setting)


def _backends(environ: dict[str, str]) -> tuple[str, ...]:
    found = {finding.name: finding for finding in findings(environ, (_NEEDED, _OPTIONAL))}
    llvm, opencl = found[f"backend {_NEEDED}"], found[f"backend {_OPTIONAL}"]
    if not llvm.works:
        raise ReplayError(f"demo: llvm does not work here: {llvm.detail}; see `replay doctor`")
    if opencl.works:
        click.echo("backends: llvm, opencl")
        return _NEEDED, _OPTIONAL
    click.echo(f"backends: llvm; without opencl: {opencl.detail}")
    return (_NEEDED,)
