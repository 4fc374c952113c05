"""What commands share: options, one-line errors, progress."""

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
from click.core import ParameterSource

import corpus as corpora  # its reader is imported by commands that read, and not by a capture
from corpus import CorpusError
from replay.errors import ReplayError, UsageError
from replay.invocation import Invocation

if TYPE_CHECKING:
    from corpus import Selection
    from replay.phases.plan import Progress

P = ParamSpec("P")
R = TypeVar("R")
Decorator = Callable[[Callable[P, R]], Callable[P, R]]

_PLAIN_EVERY_S = 10.0


class CouldNotReplay(click.ClickException):
    """A failure that is neither a verdict nor a wrong command line."""

    exit_code = 3


def corpus_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add --corpus: a directory, an archive or a text form."""
    return click.option(
        "--corpus",
        "corpus_path",
        type=click.Path(path_type=Path),
        required=True,
        help="A corpus directory or archive.",
    )(function)


def policy_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add --policy. A file that is named must be there; without the usual one, all is strict."""
    return click.option(
        "--policy",
        type=click.Path(path_type=Path),
        default=Path("pyproject.toml"),
        callback=_existing_if_named,
        help="The file with [tool.replay].",
    )(function)


def _existing_if_named(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    is_named = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
    if is_named and not path.exists():
        raise click.UsageError(f"--policy {path}: does not exist; name a file with [tool.replay]")
    return path


def color_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add --color; `is_colored` says what it means here."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="auto: on a terminal, unless NO_COLOR is set.",
    )(function)


def is_colored(color: str, invocation: Invocation) -> bool:
    """Whether to print escape sequences: what was asked for, or what the place can show."""
    is_fitting = invocation.is_terminal and not invocation.environ.get("NO_COLOR")
    return is_fitting if color == "auto" else color == "always"


def selection_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add --only, --target, --test and --limit."""
    options = (
        click.option("--only", multiple=True, metavar="GLOB", help="Kernels with such names."),
        click.option("--target", metavar="GLOB", help="A backend, or backend/profile."),
        click.option("--test", metavar="GLOB", help="Kernels that such tests compiled."),
        click.option("--limit", type=click.IntRange(min=1), help="At most so many records."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def selection_of(
    keys: tuple[str, ...],
    only: tuple[str, ...],
    target: str | None,
    test: str | None,
    limit: int | None,
) -> "Selection":
    """What the options of selection_options chose."""
    return corpora.Selection(keys=keys, only=only, target=target, test=test, limit=limit)


def with_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn deliberate failures into one line and exit code 3, or 2 for a wrong command line."""

    @functools.wraps(function)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        invocation = click.get_current_context().find_object(Invocation)
        try:
            return function(*arguments, **options)
        except (CorpusError, ReplayError) as error:
            if invocation is not None and invocation.is_debug:
                raise
            if isinstance(error, UsageError):
                raise click.UsageError(str(error)) from None
            raise CouldNotReplay(str(error)) from None

    return wrapped


def print_json(value: object) -> None:
    """Print a value as indented JSON; keys stay in their order."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


@contextmanager
def showing_progress() -> Iterator["Progress"]:
    """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""
    if sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _plain_lines()


def _plain_lines() -> "Progress":
    last = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PLAIN_EVERY_S:
            last = time.monotonic()
            click.echo(f"{what}: {done} of {total}", err=True)

    return progress


@contextmanager
def _bar() -> Iterator["Progress"]:
    from rich.console import Console  # noqa: PLC0415  # 60 ms that only a terminal pays
    from rich.progress import Progress as Bar  # noqa: PLC0415  # likewise

    with Bar(console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what)
            bar.update(tasks[what], completed=done, total=total)

        yield progress
