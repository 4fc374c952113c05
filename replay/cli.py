"""The `replay` command. It loads one module per command; the table says which.

To add a command: a module in replay/commands with a `command`, and a line in COMMANDS.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

from replay.invocation import Invocation

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("demo", "replay.commands.demo", "Show the main job end to end on a real model."),
    ("capture", "replay.commands.capture", "Run a program and record every kernel it compiles."),
    ("run", "replay.commands.run", "Compile a corpus again and say what changed."),
    ("list", "replay.commands.list", "Print the records of a corpus, one a line."),
    ("show", "replay.commands.show", "Print all of one record."),
    ("diff", "replay.commands.diff", "Show how a kernel changed, or how two records differ."),
    ("verify", "replay.commands.verify", "Run kernels and check their numbers."),
    ("accept", "replay.commands.accept", "Approve differences, or make them the baseline."),
    ("corpus", "replay.commands.corpus", "Look after a corpus: stat, check, merge, export, ..."),
    ("bisect", "replay.commands.bisect", "Name the commit that changed or broke each kernel."),
    ("fuzz", "replay.commands.fuzz", "Try random kernels and opts until something is wrong."),
    ("doctor", "replay.commands.doctor", "Say what works here, and what to install for the rest."),
)


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for name, _, _ in COMMANDS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for known, module, _ in COMMANDS:
            if known == name:
                command: click.Command = importlib.import_module(module).command
                return command
        return None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, _, text in COMMANDS])


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
def cli(context: click.Context, *, debug: bool) -> None:
    """Captures the kernels a compiler makes, and replays them after it changed."""
    context.obj = Invocation(
        environ=dict(os.environ),
        directory=Path.cwd(),
        today=date.today(),  # approvals run out at the end of a local day
        is_debug=debug,
        is_terminal=sys.stdout.isatty(),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0 pass, 1 gate failed, 2 usage, 3 could not replay, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(words, prog_name="replay", standalone_mode=False)
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


def _refuse(message: str, code: int, hint: str = "") -> int:
    click.echo(f"replay: {' '.join(message.split())}{hint}", err=True)
    return code


def _help_command(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "replay"
    return f" See `{path} --help`."


if __name__ == "__main__":
    sys.exit(main())
