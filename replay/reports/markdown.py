"""The report as Markdown, for CI summaries and comments on changes."""

import re

from replay.compare.diff import unified
from replay.outcome import Beside, Result
from replay.reports.model import (
    ONE_PROGRAM,
    Report,
    acceptance,
    failures,
    more_about,
    short,
    trouble,
)
from replay.text import one_line, printable

_SHOWN_CLUSTERS = 20
_SHOWN_FAILURES = 20
_SHOWN_LINES = 40


def render(report: Report) -> str:
    """The report as one Markdown document."""
    mark = "passed" if report.gate.passed else "FAILED"
    lines = [f"## Replay {mark}: {report.headline}", ""]
    lines += [f"* {_escaped(why)}" for why in report.gate.why]
    lines += [f"* {_escaped(note)}" for note in report.notes]
    lines += ["", "| outcome | records |", "|---|---:|"]
    lines += [f"| {name} | {count} |" for name, count in report.totals.items() if count]
    lines += [f"| numerics {name} | {count} |" for name, count in report.numerics.items()]
    if (once := report.beside.get(Beside.TEXT.value)) is not None:
        lines.append(f"| {ONE_PROGRAM} | {once} |")
    lines += [f"| wrong by {_escaped(n)} | {count} |" for n, count in report.severities.items()]
    lines += [f"| worst element {n} of bound | {count} |" for n, count in _of_bound(report)]
    lines += ["", *_metrics(report), *_clusters(report), *_failures(report)]
    if (command := acceptance(report)) is not None:
        lines += ["", f"If that was meant: `{command}`"]
    return "\n".join(lines).rstrip() + "\n"


def _of_bound(report: Report) -> list[tuple[str, int]]:
    """The buckets that say more than a verdict does."""
    return [(name, count) for name, count in report.buckets.items() if name.endswith("x")]


def _metrics(report: Report) -> list[str]:
    """The metrics that differ for some kernel."""
    moved = [summary for summary in report.metrics if summary.affected or summary.lost]
    if not moved:
        return []
    head = ["| metric | unit | affected | helped | hurt | before | after | mean |"]
    rows = [
        f"| {each.name} | {each.unit} | {each.affected} of {each.compared} | {each.helped}"
        f" | {each.hurt} | {each.old_total:,.10g} | {each.new_total:,.10g}"
        f" | {'' if each.ratio is None else f'x{each.ratio:.3f}'} |"
        for each in moved
    ]
    return [*head, "|---|---|---:|---:|---:|---:|---:|---:|", *rows, ""]


def _clusters(report: Report) -> list[str]:
    by_key = {result.key: result for result in report.results}
    lines: list[str] = []
    for cluster in report.clusters[:_SHOWN_CLUSTERS]:
        example = by_key[cluster.example]
        lines += [f"### {cluster.number}. {_escaped(cluster.title)} ({cluster.count})", ""]
        if example.old is not None and example.new is not None:
            body = unified(example.old.source, example.new.source, max_lines=_SHOWN_LINES)
            lines += ["```diff", printable(body).replace("```", "'''"), "```"]
        lines += [_command(more_about(report, example)), ""]
    hidden = len(report.clusters) - _SHOWN_CLUSTERS
    return [*lines, f"... and {hidden} more clusters", ""] if hidden > 0 else lines


def _failures(report: Report) -> list[str]:
    bad = failures(report)
    if not bad:
        return []
    lines = ["| key | kernel | outcome | reason | more |", "|---|---|---|---|---|"]
    lines += [_row(report, result) for result in bad[:_SHOWN_FAILURES]]
    if len(bad) > _SHOWN_FAILURES:
        lines += ["", f"... and {len(bad) - _SHOWN_FAILURES} more"]
    return lines


def _row(report: Report, result: Result) -> str:
    cells = [_escaped(each) for each in (short(result.key), result.name, result.kind)]
    cells += [_escaped(trouble(result)), _command(more_about(report, result)).replace("|", "\\|")]
    return "| " + " | ".join(cells) + " |"


def _command(text: str) -> str:
    return f"`{one_line(text).replace('`', chr(39))}`"


_SPECIAL = re.compile(r"[\\|`*\[\]!]")  # what would make code, emphasis, links, images or columns


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", one_line(text)).replace("<", "&lt;")
