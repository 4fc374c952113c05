"""`replay calibrate`: which deliberate faults of the compiler are seen, by what, and how fast."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import click

from corpus import open_reader
from replay.calibrate import MUTANTS, Calibrated, Caught, Mutant, Plan, calibrate, reasons_of
from replay.capture.environment import without_capture
from replay.commands.backends import BACKENDS, working_backends
from replay.commands.common import (
    corpus_option,
    print_json,
    selection_of,
    selection_options,
    showing_progress,
    with_errors,
)
from replay.errors import UsageError
from replay.invocation import Invocation
from replay.isolation.workers import Crew, Limits, cores


@click.command("calibrate")
@corpus_option
@selection_options
@click.option(
    "--mutant", "globs", multiple=True, metavar="GLOB", help="Only mutants of such names."
)
@click.option("--examples", type=click.IntRange(min=0), default=300, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--jobs", type=click.IntRange(1, 512), help="Workers; default: the cores.")
@click.option("--time-limit", type=click.FloatRange(min=1), default=60, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    *,
    corpus_path: Path,
    only: tuple[str, ...],
    target: str | None,
    test: str | None,
    limit: int | None,
    globs: tuple[str, ...],
    examples: int,
    seed: int,
    jobs: int | None,
    time_limit: float,
    as_json: bool,
) -> int:
    """Break a copy of the compiler on purpose, again and again, and see who notices.

    Each mutant is replayed with the records of a corpus; one that no record objects to is given to
    --examples random kernels. Exit code 0: every mutant was killed; 1: one survives.
    """
    mutants = _chosen(globs)
    environ = without_capture(invocation.environ)
    crew = Crew(environ=environ, size=jobs or cores(), limits=Limits(time_s=time_limit))
    backends = working_backends("calibrate", environ, BACKENDS) if examples else ()
    plan = Plan(mutants, crew, examples, backends, seed)
    with open_reader(corpus_path) as reader, showing_progress() as progress:
        selection = selection_of((), only, target, test, limit)
        say = _nothing if as_json else _say
        found = calibrate(reader, selection, plan, progress, say)
    if as_json:
        print_json(_as_json(found))
    else:
        _say_totals(found)
    return 0 if found.killed == len(found.caught) else 1


def _chosen(globs: tuple[str, ...]) -> tuple[Mutant, ...]:
    chosen = tuple(
        mutant for mutant in MUTANTS if not globs or any(fnmatchcase(mutant.name, g) for g in globs)
    )
    if not chosen:
        known = ", ".join(mutant.name for mutant in MUTANTS)
        raise UsageError(f"calibrate: no mutant is named so; there are {known}")
    return chosen


def _nothing(_: Caught) -> None:
    """Say nothing yet: JSON is one value."""


def _say(caught: Caught) -> None:
    state = "killed  " if caught.is_killed else "SURVIVES"
    by = ", ".join(_counted(caught, name) for name in caught.oracles) or "nobody"
    changed = caught.by["source"]
    click.echo(f"{state} {caught.mutant.name:<17} by {by}; {changed} records changed")


def _counted(caught: Caught, oracle: str) -> str:
    if oracle in caught.by:
        return f"{oracle} {caught.by[oracle]} ({caught.replay_s:.1f} s)"
    return f"{oracle} after {caught.fuzzed} kernels ({caught.fuzz_s:.1f} s)"


def _say_totals(found: Calibrated) -> None:
    click.echo(f"{found.records} records{_say_left_out(found.left_out)}")
    click.echo(f"{found.killed} of {len(found.caught)} mutants killed")
    for each in found.caught:
        if not each.is_killed:
            click.echo(f"  {each.mutant.name}: {each.mutant.what} ({each.mutant.file})")


def _say_left_out(counts: Mapping[str, int]) -> str:
    """How many records judge nothing, and what a replay of the healthy compiler says of them."""
    if not counts:
        return ""
    return f"; {sum(counts.values())} left out: {reasons_of(counts)}"


def _as_json(found: Calibrated) -> dict[str, object]:
    return {
        "schema": 1,
        "records": found.records,
        "left_out": sum(found.left_out.values()),
        "left_out_by_reason": dict(found.left_out),
        "mutants": [_mutant_as_json(each) for each in found.caught],
        "killed": found.killed,
        "total": len(found.caught),
    }


def _mutant_as_json(caught: Caught) -> dict[str, object]:
    mutant = caught.mutant
    return {
        "name": mutant.name,
        "fault": mutant.fault.value,
        "what": mutant.what,
        "file": mutant.file,
        "keeps_results": mutant.keeps_results,
        "killed": caught.is_killed,
        "oracles": list(caught.oracles),
        "records": dict(caught.by),
        "replay_s": round(caught.replay_s, 3),
        "fuzzed": caught.fuzzed,
        "signature": caught.signature,
        "fuzz_s": round(caught.fuzz_s, 3),
    }
