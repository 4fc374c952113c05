"""`replay bisect`: name the first commit that changed each kernel, or made it wrong."""

from collections.abc import Mapping
from pathlib import Path

import click

from replay.bisect import Bisected, Commit, Criterion, Found, Request, bisect
from replay.capture.environment import without_capture
from replay.commands.common import (
    corpus_option,
    print_json,
    selection_of,
    selection_options,
    showing_progress,
    with_errors,
)
from replay.invocation import Invocation
from replay.isolation.workers import Limits, cores
from replay.recompile import Mode
from replay.reports.model import quoted, short
from replay.text import one_line
from replay.tree import ROOT

_SHOWN = 5
_CRITERIA = [criterion.value for criterion in Criterion]


@click.command("bisect")
@corpus_option
@selection_options
@click.option("--good", required=True, metavar="REV", help="A commit that is right.")
@click.option("--bad", required=True, metavar="REV", help="A later one that is not.")
@click.option("--key", "keys", multiple=True, metavar="K", help="Only this kernel.")
@click.option("--criterion", type=click.Choice(_CRITERIA), default="source", show_default=True)
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), default="pinned")
@click.option("--repo", type=click.Path(path_type=Path), help="Where the compiler is developed.")
@click.option("--jobs", type=click.IntRange(1, 512), help="Workers; default: the cores.")
@click.option("--record-timeout", type=click.FloatRange(min=0.1), default=60.0, metavar="S")
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
    good: str,
    bad: str,
    keys: tuple[str, ...],
    criterion: str,
    mode: str,
    repo: Path | None,
    jobs: int | None,
    record_timeout: float,
    *,
    as_json: bool,
) -> int:
    """Find the first bad commit of every kernel that is good at --good and bad at --bad.

    By source a kernel is bad where its source is not that of the good commit; by numerics where
    what it computes is wrong. Commits that cannot compile a kernel are passed over. Exit code 3 if
    nothing is bad, or the first bad commit of a kernel cannot be told.
    """
    request = Request(
        corpus=corpus_path,
        selection=selection_of(keys, only, target, test, limit),
        good=good,
        bad=bad,
        criterion=Criterion(criterion),
        mode=Mode(mode),
        repository=repo or Path(ROOT),
        jobs=jobs or cores(),
        limits=Limits(record_timeout),
    )
    with showing_progress() as progress:
        answer = bisect(request, without_capture(invocation.environ), progress)
    if as_json:
        print_json(_as_json(answer))
    else:
        click.echo("\n".join(_lines(answer)))
    return 0 if answer.is_answered else 3


def _lines(answer: Bisected) -> list[str]:
    request, history = answer.request, answer.history
    lines = [
        f"bisect by {request.criterion.value}: {_count(len(answer.kernels), 'kernel')}, "
        f"{_count(len(history.commits) - 1, 'commit')} after {history.commits[0].short}; "
        f"asked {_count(len(answer.table), 'commit')}"
    ]
    if not answer.found:
        lines.append("no kernel is good at --good and bad at --bad: nothing to bisect")
    for commits, keys in answer.by_commits.items():
        lines += ["", *_group(answer, commits, keys)]
    if answer.unknown:
        lines += ["", f"nothing can be said about {_count(len(answer.unknown), 'kernel')}:"]
        lines += _kernels(answer, list(answer.unknown), answer.unknown)
    return lines


def _group(answer: Bisected, commits: tuple[Commit, ...], keys: list[str]) -> list[str]:
    repository = quoted(str(answer.history.repository))
    first = [f"{commit.short} {one_line(commit.subject)}" for commit in commits]
    kernels = _count(len(keys), "kernel")
    if len(commits) == 1:
        lines = [f"first bad commit of {kernels}: {first[0]}"]
    else:
        lines = [f"first bad commit of {kernels}, one of these (the others were skipped):"]
        lines += [f"  {each}" for each in first]
    return [
        *lines,
        *_kernels(answer, keys, {}),
        f"  git -C {repository} show {commits[-1].short}",
    ]


def _kernels(answer: Bisected, keys: list[str], reasons: Mapping[str, str]) -> list[str]:
    lines = []
    for key in keys[:_SHOWN]:
        record = answer.kernels[key].record
        why = f": {reasons[key]}" if key in reasons else ""
        text = f"{record.name or '?'} ({record.target.backend}/{record.target.profile}){why}"
        lines.append(f"  {short(key)}  {one_line(text)[:140]}")
    if len(keys) > _SHOWN:
        lines.append(f"  and {len(keys) - _SHOWN} more: --json")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _as_json(answer: Bisected) -> dict[str, object]:
    history, last = answer.history, answer.history.commits[-1]
    return {
        "schema": 1,
        "criterion": answer.request.criterion.value,
        "good": history.commits[0].name,
        "bad": last.name,
        "commits": len(history.commits) - 1,
        "answered": answer.is_answered,
        "kernels": [_kernel(answer, key, found) for key, found in sorted(answer.found.items())],
        "unknown": dict(sorted(answer.unknown.items())),
        "table": {
            commit: {key: [cell.kind.value, cell.text] for key, cell in sorted(cells.items())}
            for commit, cells in answer.table.items()
        },
    }


def _kernel(answer: Bisected, key: str, found: Found) -> dict[str, object]:
    record = answer.kernels[key].record
    commits = answer.history.commits[found.first : found.last + 1]
    return {
        "key": key,
        "name": record.name,
        "target": f"{record.target.backend}/{record.target.profile}",
        "first_bad": commits[0].name if found.is_exact else None,
        "subject": commits[0].subject if found.is_exact else None,
        "one_of": [commit.name for commit in commits],
    }
