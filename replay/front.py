"""The command line around the commands: the group, its options, and what exit codes mean."""

import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import click

from replay.capture.launch import Program, temporary_places
from replay.invocation import Invocation
from replay.sweeping import sweep

Modules = Sequence[tuple[str, str, str]]
"""For each command its name, the module that has it, and what it does."""


def run(
    words: Sequence[str], modules: Modules, environ: Mapping[str, str], program: Program | None
) -> int:
    """Run the command that `words` name; `program` is one that has been started for it."""
    invocation = Invocation(
        environ=environ,
        directory=Path.cwd(),
        today=date.today(),  # approvals run out at the end of a local day
        is_debug=False,
        is_terminal=sys.stdout.isatty(),
        program=program,
    )
    group = _group(modules)
    for line in sweep(filter(None, temporary_places(environ))):
        click.echo(f"replay: warning: {line}", err=True)
    try:
        code = group.main(list(words), prog_name="replay", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except click.UsageError as error:
        return _refuse(error.format_message(), 2, hint=_help_command(error))
    except click.ClickException as error:
        return _refuse(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _refuse("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001  # our bugs must not look like a failed gate
        traceback.print_exc()
        return _refuse(f"{type(error).__name__}: {error}; this is a bug, please report it", 3)
    return code if isinstance(code, int) else 0


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    modules: Modules = ()

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for name, _, _ in self.modules]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for known, module, _ in self.modules:
            if known == name:
                command: click.Command = importlib.import_module(module).command
                return command
        return None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, _, text in self.modules])


def _group(modules: Modules) -> LazyGroup:
    _cli.modules = modules
    return _cli


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  # click's
    if wanted:
        metadata = importlib.import_module("importlib.metadata")
        click.echo(f"kernel-replay {metadata.version('kernel-replay')}")
        context.exit()


@click.command(cls=LazyGroup)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def _cli(context: click.Context, *, debug: bool) -> None:
    """Captures the kernels a compiler makes, and replays them after it changed."""
    invocation: Invocation = context.obj
    context.obj = replace(invocation, is_debug=debug)


def _refuse(message: str, code: int, hint: str = "") -> int:
    said = " ".join(message.split())
    click.echo(f"replay: {said.rstrip('.')}.{hint}" if hint else f"replay: {said}", err=True)
    return code


def _help_command(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "replay"
    return f" See `{path} --help`."
