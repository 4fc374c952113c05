"""`replay list`: the records of a corpus, one a line, key first."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corpus import SHORT_KEY, Item, KernelRecord, Unreadable, open_reader, select
from replay.commands.common import (
    color_option,
    corpus_option,
    is_colored,
    print_json,
    selection_of,
    selection_options,
    showing_progress,
    with_errors,
)
from replay.errors import UsageError
from replay.invocation import Invocation
from replay.text import one_line

if TYPE_CHECKING:
    from replay.phases.plan import Progress

_AT_ONCE = 256  # lines; each write is flushed
_SHAPE_WIDTH = 24


@click.command("list")
@corpus_option
@selection_options
@click.option("--shapes", is_flag=True, help="The loops of each kernel after its opts, too.")
@color_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    corpus_path: Path,
    only: tuple[str, ...],
    target: str | None,
    test: str | None,
    limit: int | None,
    color: str,
    *,
    shapes: bool,
    as_json: bool,
) -> int:
    """Print the records of a corpus, one a line, key first."""
    if shapes and as_json:
        raise UsageError("list: --shapes is for people; leave it out, or --json")
    shape = _shape if shapes else _nothing
    selection = selection_of((), only, target, test, limit)
    with open_reader(corpus_path) as reader, _progress() as progress:
        items = select(reader, selection)
        if as_json:
            print_json([_fields(item) for item in items])
            return 0
        shown, total = 0, len(reader)
        while lines := [_line(item, shape) for item in islice(items, _AT_ONCE)]:
            click.echo("\n".join(lines), color=is_colored(color, invocation))
            shown += len(lines)
            progress("listing", shown, total)
    return 0


def _progress() -> AbstractContextManager["Progress"]:
    """None where the lines themselves are seen to come."""
    return nullcontext(lambda *_: None) if sys.stdout.isatty() else showing_progress()


def _nothing(_: KernelRecord) -> str:
    """No column, and no compiler."""
    return ""


def _shape(record: KernelRecord) -> str:
    """A column: the sizes of the loops, in the colours of their roles."""
    module = import_module("replay.shape")  # the compiler: a plain list does without
    return f"  {module.shape(module.kernel_of(record), pad=_SHAPE_WIDTH)}"


def _line(item: Item, shape: Callable[[KernelRecord], str]) -> str:
    if isinstance(item, Unreadable):
        return f"{item.key[:SHORT_KEY]}  unreadable  {one_line(item.reason)}"
    record = item.record
    target = f"{record.target.backend}/{record.target.profile}"
    name = one_line(record.name or f"({record.status.value})")
    count = record.provenance.occurrences
    line = f"{item.key[:SHORT_KEY]}  {target:<18}  {count:>5}x{shape(record)}  {name}"
    test = record.provenance.test_id
    return f"{line}  {one_line(test)}" if test else line


def _fields(item: Item) -> dict[str, object]:
    if isinstance(item, Unreadable):
        return {"key": item.key, "unreadable": item.reason}
    record = item.record
    return {
        "key": item.key,
        "name": record.name,
        "target": f"{record.target.backend}/{record.target.profile}",
        "status": record.status.value,
        "test": record.provenance.test_id,
        "occurrences": record.provenance.occurrences,
    }
