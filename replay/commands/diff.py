"""`replay diff`: how one kernel changed since it was recorded, or how two records differ."""

from pathlib import Path

import click

from corpus import SHORT_KEY, Unreadable, differing_fields, open_reader, resolve_key
from replay.artefact import Artefact
from replay.commands.common import corpus_option, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.compare.diff import show_opts, unified
from replay.errors import ReplayError, UsageError
from replay.invocation import Invocation
from replay.outcome import Beside, Facet, Result
from replay.reports.model import ONE_PROGRAM, metrics_text
from replay.session import Request, replay_corpus
from replay.text import one_line, printable


@click.command("diff")
@click.argument("keys", nargs=-1, required=True, metavar="KEY [OTHER]")
@corpus_option
@replaying_options
@click.pass_obj
@with_errors
def command(invocation: Invocation, request: Request) -> int:
    """Show how the kernel KEY changed since it was recorded, or how it differs from OTHER.

    Exit code 1 if there is a difference.
    """
    keys = request.selection.keys
    if len(keys) > 2:
        raise UsageError(f"diff: {len(keys)} keys given; give one, or two to compare")
    if len(keys) == 2:
        return _two_records(request.corpus, *keys)
    with showing_progress() as progress:
        report = replay_corpus(request, invocation, progress)
    (result,) = report.results
    for line in _lines(result):
        click.echo(printable(line))
    return report.exit_code


def _lines(result: Result) -> list[str]:
    lines = [f"{result.kind} {result.key[:SHORT_KEY]} {one_line(result.name)} ({result.target})"]
    facts = (
        ("reason: {}", result.reason and result.explanation),
        ("grew: {}", result.excess),
        ("{}", ONE_PROGRAM if result.beside is Beside.TEXT else None),
        ("machine code: {}", result.machine_code),
        ("first difference: {}", result.stage),
    )
    lines += [form.format(fact) for form, fact in facts if fact]
    if result.old is not None and result.new is not None:
        for facet in result.facets:
            lines += _facet_lines(facet, result.old, result.new)
    lines += [f"metric {line}" for line in metrics_text(result).splitlines()]
    if result.log:
        lines.append(result.log)
    return lines


def _facet_lines(facet: Facet, old: Artefact, new: Artefact) -> list[str]:
    if facet is Facet.SOURCE:
        return [unified(old.source, new.source)]
    if facet is Facet.OPTS:
        return [f"- opts {show_opts(old.applied)}", f"+ opts {show_opts(new.applied)}"]
    name = facet.value
    return [f"- {name} {getattr(old, name)}", f"+ {name} {getattr(new, name)}"]


def _two_records(path: Path, key: str, other: str) -> int:
    with open_reader(path) as reader:
        items = [reader.read(resolve_key(reader, prefix)) for prefix in (key, other)]
    records = []
    for item in items:
        if item is None or isinstance(item, Unreadable):
            raise ReplayError(f"record {item.key if item else key}: unreadable; see `corpus check`")
        records.append(item.record)
    one, two = records
    fields = differing_fields(one, two)
    for name in fields:
        old, new = (str(getattr(record, name) or "") for record in (one, two))
        click.echo(f"{name}:")
        click.echo(printable(unified(old, new)))
    return 1 if fields else 0
