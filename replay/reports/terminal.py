"""The report on a terminal: one screen, even if every kernel changed."""

from replay.outcome import Beside, Numerics, Outcome
from replay.reports.model import (
    ONE_PROGRAM,
    Report,
    acceptance,
    failures,
    left_out,
    metric_text,
    more_about,
    short,
    trouble,
)
from replay.reports.styled import Text
from replay.text import cut, one_line

_SHOWN_CLUSTERS = 5
_SHOWN_FAILURES = 5
_SHOWN_METRICS = 5
_GOOD = (Outcome.SAME, Outcome.RENAMED)
_STYLES = {
    Outcome.SAME: "green",
    Outcome.RENAMED: "green",
    Outcome.FIXED: "cyan",
    Outcome.NEW: "cyan",
    Outcome.OPTS: "yellow",
    Outcome.CODE: "yellow",
    Outcome.SKIPPED: "magenta",
}
_NUMERIC_STYLES = {
    Numerics.WRONG: "red",
    Numerics.UNFINISHED: "red",
    Numerics.UNDECIDED: "yellow",
}


def render(report: Report, *, is_colored: bool = False) -> str:
    """The report as lines of text, with escape sequences where `is_colored`."""
    lines = (_headline(report), *_clusters(report), *_failures(report), *_end(report))
    return "".join(f"{line.render(is_colored=is_colored)}\n" for line in lines)


def _headline(report: Report) -> Text:
    text = Text(f"{report.mode} replay against {report.baseline}: ")
    return text.append(report.headline, style="bold")


def _totals(report: Report) -> Text:
    parts: list[tuple[str, str]] = []
    for name, count in report.totals.items():
        if name != "records" and count:
            parts.append((f"{count} {name}", _STYLES.get(Outcome(name), "red")))
    text = Text("  ")
    for number, (part, style) in enumerate(parts):
        text.append(" · " if number else "").append(part, style=style)
    text.append(f" = {len(report.results)} records")
    return text


def _numerics(report: Report) -> list[Text]:
    if not report.numerics:
        return []
    text = Text("  numerics: ")
    for number, (name, count) in enumerate(report.numerics.items()):
        style = _NUMERIC_STYLES.get(Numerics(name), "green")
        text.append(" · " if number else "").append(f"{count} {name}", style=style)
    if report.weak:
        text.append(f" · {report.weak} weak", style="yellow")
    if not report.severities:
        return [text]
    worst = " · ".join(f"{count} {name}" for name, count in report.severities.items())
    return [text, Text("  worst elements of wrong kernels: ").append(worst, style="red")]


def _run_once(report: Report) -> list[Text]:
    """Of how many kernels nothing was compared with the old one but the text."""
    count = report.beside.get(Beside.TEXT.value)
    return [Text(f"  {ONE_PROGRAM}: {count}")] if count else []


def _machine_code(report: Report) -> list[Text]:
    counts = " \u00b7 ".join(f"{count} {name}" for name, count in report.machine_code.items())
    return [Text(f"  machine code of changed kernels: {counts}")] if counts else []


def _metrics(report: Report) -> list[Text]:
    """Metrics that the change helped or hurt; all of them are in the other formats."""
    moved = [each for each in report.metrics if each.helped or each.hurt or each.lost]
    lines = []
    for summary in moved[:_SHOWN_METRICS]:
        style = "yellow" if summary.hurt or summary.lost else "green"
        line = Text(f"  {summary.name.replace('_', ' ')}: ")
        lines.append(line.append(metric_text(summary), style=style))
    if len(moved) > _SHOWN_METRICS:
        lines[-1].append(f"; {len(moved) - _SHOWN_METRICS} more metrics: --report json:PATH")
    if (text := left_out(report)) is not None:
        lines.append(Text(f"  {text}"))
    return lines


def _clusters(report: Report) -> list[Text]:
    by_key = {result.key: result for result in report.results}
    lines: list[Text] = []
    for cluster in report.clusters[:_SHOWN_CLUSTERS]:
        example = by_key[cluster.example]
        members = [by_key[key] for key in cluster.keys]
        approved = sum(member.approval is not None for member in members)
        style = _STYLES.get(cluster.outcome, "red")
        line = Text("  ").append(f"#{cluster.number} {cluster.count:>5} x ", style=style)
        line.append(cut(one_line(cluster.title), 140))
        if approved:
            line.append(f" ({approved} approved)", style="green")
        lines += [line, Text(f"      {more_about(report, example)}", style="dim")]
    hidden = len(report.clusters) - _SHOWN_CLUSTERS
    if hidden > 0:
        lines.append(Text(f"  and {hidden} more clusters: --report markdown:PATH or json:PATH"))
    return lines


def _failures(report: Report) -> list[Text]:
    bad = failures(report)
    lines: list[Text] = []
    for result in bad[:_SHOWN_FAILURES]:
        line = Text("  ").append(f"{result.kind}", style="red")
        said = f" {short(result.key)} {result.name} ({result.target}): {trouble(result)}"
        line.append(" " + cut(one_line(said), 160))
        lines += [line, Text(f"      {more_about(report, result)}", style="dim")]
    if len(bad) > _SHOWN_FAILURES:
        lines.append(Text(f"  and {len(bad) - _SHOWN_FAILURES} more: --report json:PATH", "red"))
    return lines


def _end(report: Report) -> list[Text]:
    lines = [_totals(report), *_numerics(report), *_run_once(report)]
    lines += [*_machine_code(report), *_metrics(report)]
    lines += [Text(f"  note: {note}", style="magenta") for note in report.notes]
    if report.is_interrupted:
        lines.append(Text("interrupted: this report is partial", style="red"))
    if report.gate.passed:
        lines.append(Text(f"gate passed ({report.compiles} compiles)", style="green"))
        return lines
    lines += [Text(f"gate failed: {why}", style="red") for why in report.gate.why]
    if (command := acceptance(report)) is not None:
        lines.append(Text(f"  if that was meant: {command}", style="dim"))
    return lines
