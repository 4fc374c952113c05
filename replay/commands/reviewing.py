"""The questions of `replay accept --review`: one way in which kernels changed at a time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import click

from replay.compare.cluster import Cluster
from replay.compare.diff import show_opts, unified
from replay.outcome import FAILED_RUNS, Facet, Result
from replay.reports.model import Report, more_about
from replay.text import one_line, printable

_SHOWN_LINES = 30


class Answer(Enum):
    """What a letter means."""

    ACCEPT = "a"
    REJECT = "r"
    SKIP = "s"
    WHOLE = "d"
    QUIT = "q"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was decided: a reason for each accepted cluster, by number."""

    accepted: Mapping[int, str]
    rejected: tuple[int, ...]
    left: int

    @property
    def sentence(self) -> str:
        return f"{len(self.accepted)} accepted, {len(self.rejected)} rejected, {self.left} left"


def review(report: Report, numbers: Sequence[int], reason: str | None) -> Reviewed:
    """Show each cluster, or those of `numbers`, and ask. Without `reason` each needs its own."""
    clusters = [each for each in report.clusters if not numbers or each.number in numbers]
    accepted: dict[int, str] = {}
    rejected: list[int] = []
    by_key = {result.key: result for result in report.results}
    for cluster in clusters:
        members = [by_key[key] for key in cluster.keys]
        answer = _decide(report, cluster, members)
        if answer is Answer.QUIT:
            break
        if answer is Answer.ACCEPT:
            accepted[cluster.number] = one_line(_reason() if reason is None else reason)
        if answer is Answer.REJECT:
            rejected.append(cluster.number)
    left = len(clusters) - len(accepted) - len(rejected)
    return Reviewed(accepted, tuple(rejected), left)


def can_be_accepted(result: Result) -> bool:
    """Whether anybody may accept this one: its numbers are neither wrong nor unknown."""
    return result.numerics not in FAILED_RUNS


def _decide(report: Report, cluster: Cluster, members: list[Result]) -> Answer:
    example = next(result for result in members if result.key == cluster.example)
    is_open = any(can_be_accepted(result) for result in members)
    _show(report, cluster, members, example, _SHOWN_LINES)
    while True:
        answer = _ask(cluster, is_open=is_open)
        if answer is not Answer.WHOLE:
            return answer
        _show(report, cluster, members, example, None)


def _show(
    report: Report,
    cluster: Cluster,
    members: list[Result],
    example: Result,
    max_lines: int | None,
) -> None:
    kinds = Counter(result.kind for result in members)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    click.echo(f"\n#{cluster.number} {cluster.count} x {one_line(cluster.title)}")
    click.echo(f"   {counts}; for one: {one_line(example.name)} ({example.target})")
    for line in _difference(example, max_lines):
        click.echo(printable(line))
    click.echo(f"   {more_about(report, example)}")
    bad = sum(not can_be_accepted(result) for result in members)
    if bad:
        click.echo(f"   {bad} with wrong numbers, which are never accepted")


def _difference(result: Result, max_lines: int | None) -> list[str]:
    if result.old is None or result.new is None:
        return [f"   {result.reason or result.outcome.value}"]
    old, new = result.old, result.new
    lines: list[str] = []
    for facet in result.facets:
        if facet is Facet.SOURCE:
            lines.append(unified(old.source, new.source, max_lines=max_lines))
        elif facet is Facet.OPTS:
            lines += [f"- opts {show_opts(old.applied)}", f"+ opts {show_opts(new.applied)}"]
        else:
            name = facet.value
            lines += [f"- {name} {getattr(old, name)}", f"+ {name} {getattr(new, name)}"]
    return lines


def _ask(cluster: Cluster, *, is_open: bool) -> Answer:
    accept = "[a]ccept, " if is_open else ""
    question = f"#{cluster.number}: {accept}[r]eject, [s]kip, whole [d]iff, [q]uit"
    while True:
        answer = _answer(click.prompt(question, prompt_suffix="? "))
        if answer is not None and (is_open or answer is not Answer.ACCEPT):
            return answer


def _answer(word: str) -> Answer | None:
    """What a letter means, or a word that begins with it; None for any other."""
    return next((each for each in Answer if word.strip().lower()[:1] == each.value), None)


def _reason() -> str:
    text: str = click.prompt("why is it right")
    return text
