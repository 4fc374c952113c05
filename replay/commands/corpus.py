"""`replay corpus`: what is in a corpus, what is damaged, and moving records between corpora."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from corpus import (
    SHORT_KEY,
    Conflict,
    Form,
    Merged,
    Reader,
    Selection,
    Side,
    Status,
    Unreadable,
    Writer,
    check_corpus,
    export_corpus,
    forget_lost,
    merge_corpus,
    name_of,
    open_reader,
    open_writer,
    prune_corpus,
    repair_corpus,
    stat_corpus,
)
from replay.capture.environment import without_capture
from replay.commands.common import corpus_option, print_json, showing_progress, with_errors
from replay.errors import UsageError
from replay.invocation import Invocation
from replay.text import one_line

if TYPE_CHECKING:
    from replay.share import Shared

_PATH = click.Path(path_type=Path)
_SHOWN = 20
_URL = "://"


@click.group("corpus")
def command() -> None:
    """Look after a corpus."""


@command.command("stat")
@corpus_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_errors
def stat(corpus_path: Path, *, as_json: bool) -> int:
    """Count records by kind, target, status and revision."""
    with open_reader(corpus_path) as reader:
        found = stat_corpus(reader)
    if as_json:
        print_json({**asdict(found), "path": name_of(found.path), "mean_bytes": found.mean_bytes})
        return 0
    click.echo(f"{found.records} records, {found.occurrences} occurrences")
    if found.unreadable:
        click.echo(f"{found.unreadable} unreadable records: see `replay corpus check`")
    if found.lost:
        click.echo(_incomplete(found.lost))
    click.echo(f"{found.mean_bytes:.0f} bytes a record, {found.file_bytes} on disk")
    for name in ("by_kind", "by_target", "by_status", "by_revision"):
        for value, count in getattr(found, name).items():
            click.echo(f"{name.removeprefix('by_'):<9} {one_line(value)}: {count}")
    return 0


def _incomplete(lost: int) -> str:
    records = "1 record was" if lost == 1 else f"{lost} records were"
    return f"incomplete: {records} lost, while it was captured or by a repair"


def _name(what: str, items: Sequence[Unreadable]) -> None:
    """Name each damaged record; those whose keys are not known are counted."""
    for item in items:
        if item.key:
            click.echo(f"{what} {item.key}: {one_line(item.reason)}")
    nameless = Counter(item.reason for item in items if not item.key)
    for reason, count in nameless.items():
        noun = "1 record" if count == 1 else f"{count} records"
        click.echo(f"{what} {noun} of unknown key: {one_line(reason)}")


@command.command("check")
@corpus_option
@click.option("--repair", is_flag=True, help="Keep all that is whole in a corpus made anew.")
@click.option("--forget-lost", "forget", is_flag=True, help="Call an incomplete corpus complete.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_errors
def check(corpus_path: Path, *, repair: bool, forget: bool, as_json: bool) -> int:
    """Read every record and name what is damaged. Exit code 1 if anything is."""
    if forget:
        click.echo(f"forgot {forget_lost(corpus_path)} lost records")
        return 0
    if repair:
        return _repair(corpus_path)
    with open_reader(corpus_path, allow_empty=True) as reader, showing_progress() as progress:
        total = len(reader)
        found = check_corpus(reader, lambda count: progress("checking", count, total))
    if as_json:
        unreadable = to_builtins(found.unreadable)
        said = {"path": name_of(found.path), "unreadable": unreadable, "is_whole": found.is_whole}
        print_json({**asdict(found), **said})
        return 0 if found.is_whole else 1
    _name("unreadable", found.unreadable)
    for line in found.container:
        click.echo(f"damaged: {one_line(line)}")
    if found.lost:
        click.echo(_incomplete(found.lost))
    click.echo(f"{found.records} records, {len(found.unreadable)} unreadable")
    if not found.is_whole:
        name = name_of(corpus_path)
        mend = f"check --corpus {name} --repair"
        mend = mend if corpus_path.is_dir() else f"merge {name} --corpus NEW"
        click.echo(f"to keep the rest: replay corpus {mend}")
    return 0 if found.is_whole else 1


def _repair(path: Path) -> int:
    done = repair_corpus(path)
    _name("dropped", done.dropped)
    if done.assumed_lost:
        forget = f"replay corpus check --corpus {path} --forget-lost"
        click.echo(f"its count of lost records was damaged: 1 is assumed; if none was: {forget}")
    kept = f"kept {done.kept} records"
    click.echo(f"{kept}; the damaged corpus is {done.backup}" if done.backup else kept)
    return 0


@command.command("merge")
@click.argument("sources", nargs=-1, required=True, type=_PATH)
@corpus_option
@click.option(
    "--prefer",
    type=click.Choice([side.value for side in Side]),
    default=Side.OURS.value,
    help="Whose answer stays where two differ.",
)
@with_errors
def merge(sources: tuple[Path, ...], corpus_path: Path, prefer: str) -> int:
    """Add the records of SOURCES to a corpus. Exit code 1 if answers conflict."""
    return _merge(sources, corpus_path, Side(prefer))


@command.command("import")
@click.argument("archive")
@corpus_option
@with_errors
def import_(archive: str, corpus_path: Path) -> int:
    """Add the records of an archive or text form, or of an object store's URL, to a corpus."""
    if _URL not in archive:
        return _merge((Path(archive),), corpus_path, Side.OURS)
    remote = import_module("corpus.remote")
    with open_writer(corpus_path) as writer:
        merged: Merged = remote.pull_corpus(remote.open_store(archive), archive, writer)
    return _report_merged(archive, merged)


def _merge(sources: Sequence[Path], corpus_path: Path, prefer: Side) -> int:
    is_clean = True
    for source in sources:
        with open_reader(source, allow_empty=True) as reader, open_writer(corpus_path) as writer:
            merged = _merge_one(reader, writer, prefer)
        is_clean = _report_merged(name_of(source), merged) == 0 and is_clean
    return 0 if is_clean else 1


def _merge_one(reader: Reader, writer: Writer, prefer: Side) -> Merged:
    total = len(reader)
    with showing_progress() as progress:
        return merge_corpus(
            reader, writer, prefer=prefer, seen=lambda count: progress("merging", count, total)
        )


def _report_merged(source: str, merged: Merged) -> int:
    click.echo(f"{source}: {merged.added} added, {merged.equal + merged.counted} there already")
    return _report_conflicts(merged.conflicts, merged.unreadable)


def _report_conflicts(conflicts: Sequence[Conflict], unreadable: Sequence[Unreadable]) -> int:
    for conflict in conflicts[:_SHOWN]:
        fields = ", ".join(conflict.fields)
        click.echo(
            f"conflict {conflict.key[:SHORT_KEY]} {one_line(conflict.name or '?')}: {fields}"
        )
    if len(conflicts) > _SHOWN:
        click.echo(f"and {len(conflicts) - _SHOWN} conflicts more")
    _name("unreadable", unreadable)
    return 1 if conflicts or unreadable else 0


@command.command("export")
@click.argument("place")
@corpus_option
@click.option("--text", is_flag=True, help="Write the text form, for review.")
@click.option("--share", is_flag=True, help="Replace names and constants, leave out origins.")
@click.option("--jobs", type=click.IntRange(1, 512), help="With --share: workers.")
@click.pass_obj
@with_errors
def export(
    invocation: Invocation,
    place: str,
    corpus_path: Path,
    jobs: int | None,
    *,
    text: bool,
    share: bool,
) -> int:
    """Write a corpus to one file, or to the URL of an object store, as s3://bucket/kernels.

    A store gets an object for each record that it lacks; none is written twice. With --share the
    kernels are compiled anew without names, constants and origins, and replayed. Exit code 1 if
    some records could not be read or shared, or a store has other answers.
    """
    if jobs is not None and not share:
        raise UsageError("export: --jobs is for --share; nothing else is compiled")
    if _URL in place:
        return _push(corpus_path, place, is_plain=not (text or share))
    path = Path(place)
    form = Form.TEXT if text or path.suffix == ".txt" else Form.BINARY
    if share:
        return _share(corpus_path, path, form, invocation, jobs)
    with open_reader(corpus_path) as reader:
        done = export_corpus(reader, path, form=form)
    _name("unreadable", done.unreadable)
    click.echo(f"{done.records} records to {path}")
    return 1 if done.unreadable else 0


def _share(
    corpus_path: Path, path: Path, form: Form, invocation: Invocation, jobs: int | None
) -> int:
    sharing = import_module("replay.share")  # what compiles: the other commands do without
    workers = import_module("replay.isolation.workers")
    environ = without_capture(invocation.environ)
    crew = workers.Crew(environ=environ, size=jobs or workers.cores())
    with open_reader(corpus_path) as reader, showing_progress() as progress:
        done: Shared = sharing.share_corpus(reader, path, crew, form=form, progress=progress)
    _name("unreadable", done.unreadable)
    for each in done.left_out:
        click.echo(f"left out {each.key[:SHORT_KEY]}: {one_line(each.reason)}")
    joined = f", {done.joined} more became equal to one of them" if done.joined else ""
    ended = f", {done.ended} end their compile as before" if done.ended else ""
    click.echo(f"{done.records} records to {path}{joined}")
    click.echo(f"replayed: {done.same} same{ended}")
    return 1 if done.unreadable or done.left_out else 0


def _push(corpus_path: Path, url: str, *, is_plain: bool) -> int:
    if not is_plain:
        raise click.UsageError("--text and --share: for files; export to one first, and import it")
    remote = import_module("corpus.remote")
    with open_reader(corpus_path) as reader:
        done = remote.push_corpus(reader, remote.open_store(url), url)
    click.echo(f"{done.created} records to {url}, {done.present} there already")
    return _report_conflicts(done.conflicts, done.unreadable)


@command.command("prune")
@corpus_option
@click.option("--only", multiple=True, metavar="GLOB", help="Kernels with such names.")
@click.option("--target", metavar="GLOB", help="A backend, or backend/profile.")
@click.option("--test", metavar="GLOB", help="Kernels that such tests compiled.")
@click.option("--revision", metavar="GLOB", help="Records of such compiler revisions.")
@click.option("--status", type=click.Choice([status.value for status in Status]))
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@with_errors
def prune(
    corpus_path: Path,
    only: tuple[str, ...],
    target: str | None,
    test: str | None,
    revision: str | None,
    status: str | None,
    *,
    dry_run: bool,
) -> int:
    """Take records out by rule."""
    rule = Selection(
        only=only,
        target=target,
        test=test,
        revision=revision,
        status=Status(status) if status else None,
    )
    done = prune_corpus(corpus_path, rule, dry_run=dry_run)
    verb = "would remove" if dry_run else "removed"
    click.echo(f"{verb} {len(done.removed)} records, {done.kept} stay")
    return 0
