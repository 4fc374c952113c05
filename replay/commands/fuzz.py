"""`replay fuzz`: random kernels under random legal opts, until something is wrong."""

from collections.abc import Mapping
from pathlib import Path

import click
from msgspec.structs import replace

from compiler import CompileOptions, CompileStarted, find_target
from corpus import Provenance, key_of, open_writer, refuse_store
from replay.capture.environment import without_capture
from replay.codec import started_record
from replay.commands.backends import BACKENDS, working_backends
from replay.commands.common import print_json, showing_progress, with_errors
from replay.errors import UsageError
from replay.fuzz import IMPORTS, Find, Lab, Plan, Tally, run_campaign
from replay.invocation import Invocation
from replay.isolation.workers import Crew, Limits
from replay.session import compiler_root

TARGETS = (*BACKENDS, "opencl/pocl")  # which has images


@click.command("fuzz")
@click.option("--seconds", type=click.FloatRange(min=0.1), help="Draw kernels for so long.")
@click.option("--examples", type=click.IntRange(min=1), help="Draw so many kernels.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--backend", "chosen", multiple=True, type=click.Choice(TARGETS))
@click.option(
    "--corpus",
    "corpus_path",
    type=click.Path(path_type=Path),
    help="Store what fails here, as records.",
)
@click.option(
    "--compiler",
    type=click.Path(path_type=Path, exists=True),
    help="Test the compiler in this directory.",
)
@click.option("--time-limit", type=click.FloatRange(min=1), default=60, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    *,
    seconds: float | None,
    examples: int | None,
    seed: int,
    chosen: tuple[str, ...],
    corpus_path: Path | None,
    compiler: Path | None,
    time_limit: float,
    as_json: bool,
) -> int:
    """Draw kernels and legal opts, run them on every backend, compare with the reference.

    The same seed draws the same kernels. Exit code 0: nothing was found; 1: something was.
    """
    if seconds is None and examples is None:
        raise UsageError("fuzz: say when to stop, with --seconds N or --examples N")
    if corpus_path is not None:
        refuse_store(corpus_path)
    environ = without_capture(invocation.environ)
    backends = working_backends("fuzz", environ, chosen or BACKENDS)
    crew = Crew(
        environ=environ,
        limits=Limits(time_s=time_limit),
        paths=(compiler_root(compiler),) if compiler else (),
        imports=IMPORTS,
    )
    with Lab(crew) as lab, showing_progress() as progress:
        tally = run_campaign(Plan(seed, seconds, examples, backends), lab, progress)
    keys = _store(tally, corpus_path) if corpus_path is not None else {}
    if as_json:
        print_json(_as_json(tally, keys))
    else:
        click.echo(_as_text(tally, keys, corpus_path), nl=False)
    return 1 if tally.finds else 0


def _store(tally: Tally, path: Path) -> dict[str, str]:
    """Write every find as a record for its first backend; returns keys by signature."""
    keys: dict[str, str] = {}
    with open_writer(path) as writer:
        for signature, find in tally.finds.items():
            example = find.example
            target = find_target(example.backends[0] if example.backends else BACKENDS[0])
            record = replace(
                started_record(CompileStarted(example.ast, target, CompileOptions(), example.opts)),
                provenance=Provenance(test_id=f"fuzz: {signature}"),
            )
            writer.add(record)
            keys[signature] = key_of(record)
    return keys


def _as_text(tally: Tally, keys: Mapping[str, str], path: Path | None) -> str:
    opts = ", ".join(f"{name} {count}" for name, count in sorted(tally.opts.items())) or "none"
    runs = ", ".join(f"{name} {count}" for name, count in sorted(tally.runs.items())) or "none"
    lines = [
        f"{tally.examples} kernels examined; runs: {runs}",
        f"opts: {opts}; {tally.mean_opts:.1f} a kernel",
    ]
    for signature, find in tally.finds.items():
        lines += ["", *_describe(signature, find)]
        if signature in keys and path is not None:
            lines.append(f"  replay show {keys[signature][:12]} --corpus {path}")
    lines.append("" if tally.finds else "nothing found")
    return "\n".join(lines).rstrip() + "\n"


def _describe(signature: str, find: Find) -> list[str]:
    question = find.example.question
    return [
        f"FOUND {signature} on {find.failure.backend}, after {find.after} kernels",
        f"  {find.failure.reason}",
        f"  opts: {'chosen by the compiler' if question.opts is None else question.opts or 'none'}",
        *[f"    {line}" for line in question.ast.splitlines()],
    ]


def _as_json(tally: Tally, keys: Mapping[str, str]) -> dict[str, object]:
    return {
        "schema": 1,
        "examples": tally.examples,
        "shrinking": tally.shrinking,
        "runs": dict(sorted(tally.runs.items())),
        "strategies": dict(sorted(tally.strategies.items())),
        "opts": dict(sorted(tally.opts.items())),
        "mean_opts": tally.mean_opts,
        "verdicts": dict(sorted(tally.verdicts.items())),
        "finds": [
            {
                "signature": signature,
                "backend": find.failure.backend,
                "reason": find.failure.reason,
                "after": find.after,
                "strategy": find.example.strategy,
                "ast": find.example.question.ast,
                "opts": find.example.question.opts,
                "key": keys.get(signature),
            }
            for signature, find in tally.finds.items()
        ],
    }
