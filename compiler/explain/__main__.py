"""Explain a kernel: python -m compiler.explain AST_FILE [--opts 'UPCAST 0 4; LOCAL 1 8']."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click

from compiler.errors import CompilerError
from compiler.explain import Question, explain
from compiler.ir import parse_node
from compiler.kernel import parse_opts
from compiler.options import DEFAULT, Scalar, flatten, unflatten
from compiler.target import find_target


def _options(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Scalar]:
    """NAME=VALUE of compile options, any number of times."""
    known = flatten(DEFAULT)
    found: dict[str, Scalar] = {}
    for text in values:
        name, sign, word = text.partition("=")
        if not sign or name not in known:
            raise click.BadParameter(f"{text!r}: use NAME=VALUE with one of {', '.join(known)}")
        found[name] = _value(word, known[name])
    return found


def _value(word: str, like: Scalar) -> Scalar:
    """`word` as a value of the type that the option has; what does not fit is refused later."""
    if isinstance(like, bool) and word in ("true", "false"):
        return word == "true"
    if isinstance(like, int) and re.fullmatch("-?[0-9]{1,18}", word):
        return int(word)
    return word


@click.command(context_settings={"show_default": True})
@click.argument("ast", metavar="AST_FILE|KEY")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Explain the record KEY of this corpus, as `replay show KEY --stages` does.",
)
@click.option("--target", metavar="BACKEND[/PROFILE]", default="llvm")
@click.option("--opts", help="Opts by name or number, parted by `;`; else the heuristics choose.")
@click.option(
    "--option", "options", metavar="NAME=VALUE", multiple=True, callback=_options,
    help="A compile option, e.g. math.fma=false.",
)  # fmt: skip
@click.option("--trace", is_flag=True, help="Print every application of a rule.")
@click.option(
    "--rewrite-limit", type=click.IntRange(min=0), metavar="N", help="Stop rules after N."
)
def main(
    ast: str,
    corpus: Path | None,
    target: str,
    opts: str | None,
    options: dict[str, Scalar],
    rewrite_limit: int | None,
    *,
    trace: bool,
) -> None:
    """Print what became of a kernel: opts with reasons, loops, every stage, rules, source, asm.

    AST_FILE holds the text of an AST; - is the standard input. Exit code 1 if the compiler refuses
    the kernel or an opt.
    """
    if corpus is not None:
        sys.exit(subprocess.call(_show(ast, corpus, opts, rewrite_limit, trace=trace)))
    try:
        text = sys.stdin.read() if ast == "-" else Path(ast).read_text(encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{ast}: {error.strerror}; a KEY needs --corpus") from None
    try:
        backend, _, profile = target.partition("/")
        question = Question(
            parse_node(text),
            find_target(backend, profile or None),
            unflatten(options),
            None if opts is None else parse_opts(opts),
            rewrite_limit,
            trace,
        )
    except CompilerError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    explained = explain(question)
    is_plain = bool(os.environ.get("NO_COLOR"))  # noqa: TID251  # this is a command
    for section in explained.sections:
        click.echo(f"{section.text()}\n", color=False if is_plain else None)
    if explained.error is not None:
        click.echo(f"error: {explained.error}", err=True)
        sys.exit(1)


def _show(
    key: str, corpus: Path, opts: str | None, rewrite_limit: int | None, *, trace: bool
) -> list[str]:
    """The command that reads corpora: a compiler knows none, and imports nothing that does."""
    command = [sys.executable, "-m", "replay.cli", "show", key, "--corpus", str(corpus), "--stages"]
    command += [] if opts is None else ["--opts", opts]
    command += [] if rewrite_limit is None else ["--rewrite-limit", str(rewrite_limit)]
    return [*command, "--trace"] if trace else command


if __name__ == "__main__":
    main()
