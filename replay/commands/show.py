"""`replay show`: all of one record."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from corpus import KernelRecord
from replay.commands.common import (
    color_option,
    corpus_option,
    is_colored,
    print_json,
    with_errors,
)
from replay.compare.diff import show_opts
from replay.errors import UsageError
from replay.invocation import Invocation
from replay.recorded import read_record
from replay.text import one_line, printable

if TYPE_CHECKING:
    from compiler.explain import Explained


@click.command("show")
@click.argument("key")
@corpus_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--stages", is_flag=True, help="Compile it here, and print what every step makes.")
@click.option("--asm", is_flag=True, help="Compile it here, and print the machine code alone.")
@click.option("--opts", help="With --stages: these opts, parted by `;`; else those it had.")
@click.option("--trace", is_flag=True, help="With --stages: every application of a rule.")
@click.option(
    "--rewrite-limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --stages: stop rules after N applications.",
)
@color_option
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    key: str,
    corpus_path: Path,
    opts: str | None,
    rewrite_limit: int | None,
    color: str,
    *,
    as_json: bool,
    stages: bool,
    asm: bool,
    trace: bool,
) -> int:
    """Print all of the record whose key begins with KEY."""
    compiles = stages or asm
    if not compiles and (trace or opts is not None or rewrite_limit is not None):
        raise UsageError("show: --opts, --trace and --rewrite-limit need --stages")
    if compiles and as_json:
        raise UsageError("show: --stages and --asm print no JSON; leave out --json")
    whole_key, record = read_record(corpus_path, key)
    colored = is_colored(color, invocation)
    if compiles:
        steps = import_module("replay.steps")  # the compiler: other uses do without
        how = steps.How(opts, rewrite_limit, traces=trace)
        explained = steps.explain_record(record, how)
        return _print_steps(explained, is_plain=not colored) if stages else _print_code(explained)
    if as_json:
        print_json({"key": whole_key, **msgspec.to_builtins(record)})
        return 0
    head, texts = _head(whole_key, record), _texts(record)
    for line in head:
        click.echo(printable(line))
    for line in _loops(record):
        click.echo(line, color=colored)
    for line in texts:
        click.echo(printable(line))
    return 0


def _print_steps(explained: "Explained", *, is_plain: bool) -> int:
    for section in explained.sections:
        click.echo(f"{section.text()}\n", color=not is_plain)
    if explained.error is None:
        return 0
    click.echo(f"error: {printable(explained.error)}", err=True)
    return 1


def _print_code(explained: "Explained") -> int:
    """The last section, which is the machine code."""
    if explained.error is not None:
        click.echo(f"error: {printable(explained.error)}", err=True)
        return 1
    click.echo("\n".join(explained.sections[-1].lines), color=False)
    return 0


def _loops(record: KernelRecord) -> list[str]:
    """The loops of the kernel after its opts, in colours: all the escape sequences are ours."""
    module = import_module("replay.shape")  # the compiler
    kernel = module.kernel_of(record)
    if kernel is None:
        return []
    lines = [f"loop       {one_line(loop)}" for loop in module.loops(kernel)]
    return [f"shape      {module.shape(kernel)}", *lines]


def _head(key: str, record: KernelRecord) -> list[str]:
    requested = "free" if record.requested is None else show_opts(record.requested)
    pairs = (
        ("key", key),
        ("name", record.name),
        ("target", f"{record.target.backend}/{record.target.profile}"),
        ("status", f"{record.status.value} {record.error or ''}".rstrip()),
        ("options", ", ".join(f"{name}={value}" for name, value in record.options.items())),
        ("requested", requested),
        ("applied", None if record.applied is None else show_opts(record.applied)),
        ("rewrites", record.rewrites),
        ("stages", " ".join(f"{name}:{digest}" for name, digest in record.stages)),
    )
    lines = [f"{name:<10} {one_line(str(value))}" for name, value in pairs if value]
    if record.launch is not None:
        launch = record.launch
        lines.append(f"launch     global {launch.global_size} local {launch.local_size}")
    if record.estimates is not None:
        estimates = record.estimates
        lines.append(f"estimates  {estimates.flops} flops, {estimates.bytes} bytes")
    for argument in record.arguments:
        kind, size = argument.kind.value, one_line(str(argument.size))
        lines.append(f"argument   {one_line(argument.name)} {argument.dtype} {kind} size {size}")
    for name, value in sorted((record.numerics or {}).items()):
        lines.append(f"numerics   {name} {value}")
    return [*lines, *_provenance(record)]


def _texts(record: KernelRecord) -> list[str]:
    lines = ["", record.ast.rstrip()]
    return [*lines, "", record.source.rstrip()] if record.source else lines


def _provenance(record: KernelRecord) -> list[str]:
    origin = msgspec.to_builtins(record.provenance)
    return [f"{name:<10} {one_line(str(value))}" for name, value in origin.items() if value]
