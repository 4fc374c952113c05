"""The report as one HTML page that needs nothing else: clusters, diffs, and a table to search."""

import json
from importlib.resources import files

from jinja2 import Environment

from replay.artefact import Artefact
from replay.diff import hunks, show_opts, stages_like
from replay.outcome import Outcome, Result
from replay.reports.model import Report, more_about, short, trouble

_SHOWN_CLUSTERS = 50
_SHOWN_LINES = 400
_SHOWN_STAGES = 3
_CONTEXT = 3

Row = tuple[str, str, str]  # class, old line, new line


def render(report: Report) -> str:
    """The report as one HTML document."""
    here = files("replay.reports")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((here / "page.html.j2").read_text(encoding="utf-8"))
    by_key = {result.key: result for result in report.results}
    examples = [by_key[cluster.example] for cluster in report.clusters[:_SHOWN_CLUSTERS]]
    return template.render(
        report=report,
        totals=[(name, count) for name, count in report.totals.items() if count],
        plots=_plots(report),
        clusters=[
            {"cluster": cluster, "more": more_about(report, example), "tables": _tables(example)}
            for cluster, example in zip(report.clusters, examples, strict=False)
        ],
        hidden=len(report.clusters) - len(examples),
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        data=_data(report),
    )


def side_by_side(old: str, new: str) -> list[Row]:
    """Rows of two texts beside each other, with a few equal lines around each difference."""
    before = old.splitlines()
    rows: list[Row] = []
    shown = 0
    for hunk in hunks(old, new):
        start = max(shown, hunk.old_start - _CONTEXT)
        if start > shown:
            rows += [("same", line, line) for line in before[shown : min(shown + _CONTEXT, start)]]
            rows.append(("gap", "\u2026", "\u2026"))
        rows += [("same", line, line) for line in before[start : hunk.old_start]]
        height = max(len(hunk.old), len(hunk.new))
        for index in range(height):
            pair = [side[index] if index < len(side) else "" for side in (hunk.old, hunk.new)]
            rows.append(("other", pair[0], pair[1]))
        shown = hunk.old_start + len(hunk.old)
    rows += [("same", line, line) for line in before[shown : shown + _CONTEXT]] if rows else []
    return rows[:_SHOWN_LINES]


def _tables(result: Result) -> list[tuple[str, list[Row]]]:
    old, new = result.old, result.new
    if old is None or new is None:
        return [("log", [("log", result.log, "")])] if result.log else []
    pairs = [
        ("opts", show_opts(old.applied), show_opts(new.applied)),
        ("launch", str(old.launch), str(new.launch)),
        ("arguments", _arguments(old), _arguments(new)),
        ("estimates", str(old.estimates), str(new.estimates)),
        *_stages(old, new),
        ("source", old.source, new.source),
    ]
    return [(name, side_by_side(a, b)) for name, a, b in pairs if a != b]


def _stages(old: Artefact, new: Artefact) -> list[tuple[str, str, str]]:
    """The first stages that differ, as texts where both compilers told them, else by digest."""
    if old.texts and new.texts:
        pairs = zip(old.texts, new.texts, strict=False)
        found = [(f"stage {name}", a, b) for (name, a), (_, b) in pairs if a != b]
        return found[:_SHOWN_STAGES]
    after = stages_like(old, new)
    if not old.stages or not after:
        return []
    lines = ["\n".join(f"{name} {digest}" for name, digest in side) for side in (old.stages, after)]
    return [("stages", lines[0], lines[1])]


def _plots(report: Report) -> list[tuple[str, list[tuple[str, int, float]]]]:
    """Bars of a plot each: what, how many, and its share of the longest bar in percent."""
    outcomes = {name: count for name, count in report.totals.items() if name != "records"}
    counted = (
        ("outcomes", outcomes),
        ("numerics", report.numerics),
        ("worst element, in bounds", report.buckets),
        ("worst element of wrong kernels", report.severities),
        ("elements", report.elements),
        ("machine code", report.machine_code),
    )
    plots = []
    for title, counts in counted:
        longest = max(counts.values(), default=0)
        bars = [(name, n, round(100 * n / longest, 1)) for name, n in counts.items() if n]
        if bars:
            plots.append((title, bars))
    return plots


def _arguments(artefact: Artefact) -> str:
    return "\n".join(str(argument) for argument in artefact.arguments)


def _data(report: Report) -> str:
    """The rows of the table, for the script; `<` is escaped, so no text can end the element."""
    order = list(Outcome)
    rows = [
        [
            short(result.key),
            result.name,
            result.target,
            result.outcome.value,
            result.numerics.value if result.numerics else "",
            result.cluster,
            trouble(result),
            result.test_id or "",
            more_about(report, result),
        ]
        for result in sorted(report.results, key=lambda result: order.index(result.outcome))
    ]
    return json.dumps(rows).replace("<", "\\u003c")
