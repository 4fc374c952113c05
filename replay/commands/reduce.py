"""`replay reduce`: a small script that fails as a record does."""

from pathlib import Path

import click

from replay.capture.environment import without_capture
from replay.commands.common import corpus_option, showing_progress, with_errors
from replay.errors import ReplayError
from replay.invocation import Invocation
from replay.isolation.workers import Limits
from replay.reduce import Answer, Request, reduce
from replay.reports.model import quoted, short
from replay.session import compiler_root
from replay.text import printable


@click.command("reduce")
@click.argument("key")
@corpus_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the script; default: reduced-KEY.py.",
)
@click.option(
    "--compiler",
    type=click.Path(path_type=Path, exists=True),
    help="The compiler in this directory is what fails.",
)
@click.option("--most", type=click.IntRange(min=1), default=500, show_default=True, metavar="N",
              help="Try so many smaller kernels.")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(min=1), default=60, show_default=True)
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    *,
    key: str,
    corpus_path: Path,
    out: Path | None,
    compiler: Path | None,
    most: int,
    time_limit: float,
) -> int:
    """Shrink AST, shapes, dtypes, opts and options of a record while it fails in the same way.

    What is wrong is compared by kind, stage, place and size of the error, so that one bug does not
    become another. The script that is written was run in a clean process first. Exit code 3 if the
    record does not fail, or the script does not.
    """
    request = Request(
        corpus=corpus_path,
        key=key,
        compiler=compiler_root(compiler) if compiler else None,
        most=most,
        limits=Limits(time_s=time_limit),
    )
    with showing_progress() as progress:
        answer = reduce(request, without_capture(invocation.environ), progress)
    path = out or Path(f"reduced-{short(answer.key)}.py")
    try:
        path.write_text(answer.script, encoding="utf-8")
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror}; choose another --out") from None
    for line in _lines(answer, path, compiler):
        click.echo(printable(line))
    return 0 if answer.is_reproduced else 3


def _lines(answer: Answer, path: Path, compiler: Path | None) -> list[str]:
    reduced = answer.reduced
    before, after = [
        f"{example.size[0]} nodes, opts and options, {example.size[1]} iterations"
        for example in (answer.before, reduced.example)
    ]
    more = "" if reduced.is_done else "; there may be smaller ones, see --most"
    where = f"PYTHONPATH={quoted(str(compiler))} " if compiler else ""
    lines = [
        f"{short(answer.key)}  {answer.signature}",
        f"from {before}",
        f"to   {after}, {reduced.asked} kernels tried{more}",
        *[f"  {line}" for line in reduced.example.question.ast.splitlines()[1:]],
        f"  opts {reduced.example.question.opts or 'none'}",
    ]
    if not answer.is_reproduced:
        lines.append("in a clean process the script does not fail: state of the worker mattered")
    return [*lines, f"  {where}python {quoted(str(path))}"]
