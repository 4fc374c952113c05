"""The report as one HTML page that needs nothing else: clusters, diffs, and a table to search."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from jinja2 import Environment

from replay import metrics
from replay.artefact import Artefact
from replay.compare.assemblies import assemblies_of
from replay.compare.diff import hunks, show_opts, stages_like
from replay.outcome import Number, Outcome, Result
from replay.reports.buckets import bucket_of, severity_of
from replay.reports.model import Report, left_out, more_about, short, trouble

if TYPE_CHECKING:
    from replay.metrics import Summary

_SHOWN_CLUSTERS = 50
_SHOWN_LINES = 400
_SHOWN_STAGES = 3
_CONTEXT = 3

# A name could make a line of the page read otherwise than it is: these are shown as escapes.
_TURNING = {
    ord(char): f"\\u{ord(char):04x}"
    for char in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
_TURNING_IN_JSON = re.compile(
    rf"(?<!\\)((?:\\\\)*)\\(u(?:{'|'.join(f'{n:04x}' for n in _TURNING)}))"
)

Row = tuple[str, ...]  # class, and the old and the new line, or one line for both


def render(report: Report) -> str:
    """The report as one HTML document."""
    here = files("replay.reports")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_in_its_own_direction
    )
    template = environment.from_string((here / "page.html.j2").read_text(encoding="utf-8"))
    by_key = {result.key: result for result in report.results}
    examples = [by_key[cluster.example] for cluster in report.clusters[:_SHOWN_CLUSTERS]]
    return template.render(
        report=report,
        totals=[(name, count) for name, count in report.totals.items() if count],
        plots=_plots(report),
        metrics=[_metric(each) for each in report.metrics if each.affected or each.lost],
        left_out=left_out(report),
        metric_names=_json(_metric_names(report)),
        clusters=[
            {"cluster": cluster, "more": more_about(report, example), "levels": _json(levels)}
            for cluster, example in zip(report.clusters, examples, strict=False)
            if (levels := levels_of(example)) is not None
        ],
        hidden=len(report.clusters) - len(examples),
        targets=_targets(report),
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        data=_json(_rows(report)),
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


def levels_of(result: Result) -> list[tuple[str, list[Row]]]:
    """What differs of one kernel, level by level, from the question down to machine code."""
    old, new = result.old, result.new
    if old is None or new is None:
        return [("log", _whole(result.log))] if result.log else []
    before, after = assemblies_of(result)
    pairs = [
        ("opts", show_opts(old.applied), show_opts(new.applied)),
        ("launch", str(old.launch), str(new.launch)),
        ("arguments", _arguments(old), _arguments(new)),
        ("estimates", str(old.estimates), str(new.estimates)),
        *_stages(old, new),
        ("source", old.source, new.source),
        ("asm", before, after),
    ]
    asked = [("AST", _whole(result.ast))] if result.ast else []
    return [*asked, *((name, side_by_side(a, b)) for name, a, b in pairs if a != b)]


def _whole(text: str) -> list[Row]:
    """A text that both sides have in common."""
    return [("whole", line) for line in text.splitlines()[:_SHOWN_LINES]]


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


def _plots(report: Report) -> list[tuple[str, str, list[tuple[str, int, float]]]]:
    """Bars of a plot each: what, how many, and its share of the longest bar in percent. A plot
    that names a field of rows filters by it."""
    outcomes = {name: count for name, count in report.totals.items() if name != "records"}
    counted = (
        ("outcomes", "outcome", outcomes),
        ("numerics", "numerics", report.numerics),
        ("worst element, in bounds", "bucket", report.buckets),
        ("worst element of wrong kernels", "severity", report.severities),
        ("elements", "", report.elements),
        ("old kernels beside the new", "", report.beside),
        ("machine code", "machine", report.machine_code),
    )
    plots = []
    for title, field, counts in counted:
        longest = max(counts.values(), default=0)
        bars = [(name, n, round(100 * n / longest, 1)) for name, n in counts.items() if n]
        if bars:
            plots.append((title, field, bars))
    return plots


def _metric(summary: "Summary") -> dict[str, object]:
    """A line of the table of metrics; a sum of shares would mean nothing."""
    has_sums = "/" not in summary.unit
    return {
        **msgspec.structs.asdict(summary),
        "before": f"{summary.old_total:,.10g}" if has_sums else "",
        "after": f"{summary.new_total:,.10g}" if has_sums else "",
        "mean": "" if summary.ratio is None else f"\u00d7{summary.ratio:.3g}",
    }


def _metric_names(report: Report) -> list[tuple[str, str, bool]]:
    """Name, better side and whether it is a static count, of each metric."""
    if not report.metrics:
        return []
    static = [metric.name for metric in metrics.METRICS if metric.is_static]
    return [(each.name, each.better, each.name in static) for each in report.metrics]


def _targets(report: Report) -> list[tuple[str, int]]:
    """Targets to filter by, where there are several."""
    counts = Counter(result.target for result in report.results)
    return sorted(counts.items()) if len(counts) > 1 else []


def _arguments(artefact: Artefact) -> str:
    return "\n".join(str(argument) for argument in artefact.arguments)


def _rows(report: Report) -> list[list[object]]:
    """The rows of the table, for the script."""
    order = {outcome: number for number, outcome in enumerate(Outcome)}
    index = {summary.name: number for number, summary in enumerate(report.metrics)}
    return [
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
            bucket_of(result) or "",
            severity_of(result) or "",
            result.machine_code or "",
            _numbers(result, index),
            bool(result.metrics) and metrics.has_other_loops(result),
        ]
        for result in sorted(report.results, key=lambda result: order[result.outcome])
    ]


def _numbers(result: Result, index: Mapping[str, int]) -> list[Number]:
    """The metrics that differ: number of the metric, old, new, and so on."""
    found: list[Number] = []
    for name, (old, new) in result.metrics.items():
        if old != new:
            found += [index[name], old, new]
    return found


def _json(value: object) -> str:
    """JSON for a script element; `<` is escaped, so no text can end the element."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return _TURNING_IN_JSON.sub(r"\1\\\\\2", text)


def _in_its_own_direction(value: object) -> object:
    """A text without characters that turn the direction of what stands beside it."""
    return value.translate(_TURNING) if type(value) is str else value  # markup of ours stays
