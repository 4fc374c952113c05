"""All that a report says, computed once; formats are pure functions of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from replay import metrics
from replay.compare.cluster import Cluster
from replay.gate import Gate
from replay.outcome import (
    CHANGED,
    FAILED_RUNS,
    NO_ANSWER,
    Beside,
    Number,
    Numerics,
    Outcome,
    Result,
)
from replay.reports.buckets import BUCKETS, SEVERITIES, bucket_of, counted, severity_of

if TYPE_CHECKING:
    from replay.metrics import Summary

SCHEMA = 1
_SHORT = 12
_APART = (Outcome.NEW, Outcome.MISSING, Outcome.UNREADABLE)  # none of them is a change


class Report(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One replay. `results` are in order of keys; `compiles` counts those that were really done."""

    corpus: str
    mode: str
    baseline: str
    results: tuple[Result, ...]
    clusters: tuple[Cluster, ...]
    gate: Gate
    compiles: int = 0
    selected_from: int | None = None  # records in the corpus, where not all were selected
    notes: tuple[str, ...] = ()
    toolchain: Mapping[str, str] = {}
    is_interrupted: bool = False
    shard: str | None = None  # which part this is, as "2/4"
    corpus_digest: str | None = None  # of all keys of the corpus, where this is a part
    lost: int = 0  # records that the corpus says could not be stored
    damage: tuple[str, ...] = ()  # what is wrong with its container
    options: str = ""  # of the command, as the commands that show more must repeat them

    @cached_property
    def totals(self) -> dict[str, int]:
        """Outcome to count, every outcome, and `records`; the counts add up to it."""
        counts = Counter(result.outcome for result in self.results)
        return {
            "records": len(self.results),
            **{outcome.value: counts[outcome] for outcome in reversed(Outcome)},
        }

    @cached_property
    def numerics(self) -> dict[str, int]:
        """Numeric verdict to count, for the records that were run."""
        counts = Counter(result.numerics for result in self.results if result.numerics)
        return {verdict.value: counts[verdict] for verdict in Numerics if counts[verdict]}

    @cached_property
    def beside(self) -> dict[str, int]:
        """How old kernels took part in runs to count, of records that were run beside one."""
        counts = Counter(result.beside for result in self.results if result.beside)
        return {way.value: counts[way] for way in Beside if counts[way]}

    @cached_property
    def machine_code(self) -> dict[str, int]:
        """`equal` and `differs` to count, for changed kernels whose instructions are known."""
        counts = Counter(result.machine_code for result in self.results if result.machine_code)
        return dict(sorted(counts.items()))

    @cached_property
    def metrics(self) -> "tuple[Summary, ...]":
        """What the change does to each metric of the kernels that differ."""
        is_measured = any(result.metrics for result in self.results)
        return metrics.summarize(self.results) if is_measured else ()

    @cached_property
    def buckets(self) -> dict[str, int]:
        """How many bounds the worst element is off to count, for the kernels that were run."""
        return counted(map(bucket_of, self._run), BUCKETS)

    @cached_property
    def severities(self) -> dict[str, int]:
        """How far off the worst element is, relative to its value, to count of wrong kernels."""
        return counted(map(severity_of, self._run), SEVERITIES)

    @cached_property
    def elements(self) -> dict[str, int]:
        """Elements that were compared, in all kernels, by how far off they are."""
        totals: Counter[str] = Counter()
        for result in self._run:
            totals.update(result.elements)
        names = ("exact", "bounded", "undecided", *reversed(SEVERITIES))
        return {name: totals[name] for name in names if totals[name]}

    @cached_property
    def _run(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.numerics is not None)

    @cached_property
    def weak(self) -> int:
        return sum(result.is_weak for result in self.results)

    @property
    def replayed(self) -> int:
        """How many records got an answer from a compiler, be it a crash."""
        nothing = (Outcome.SKIPPED, Outcome.UNREADABLE)
        return len(self.results) - sum(self.totals[outcome.value] for outcome in nothing)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 gate failed, 3 not all could be read or none replayed, 130 interrupted."""
        if self.is_interrupted:
            return 130
        if self.why_not is not None:
            return 3
        return 0 if self.gate.passed else 1

    @property
    def why_not(self) -> str | None:
        """Why this is no replay of the corpus at all, if it is none."""
        unreadable = self.totals[Outcome.UNREADABLE.value]
        if self.damage and self.replayed:
            share = f"{unreadable} of its {len(self.results)} records"
            return f"it is damaged, {share} are out of reach; see `replay corpus check`"
        if self.damage:
            return "it is damaged, no record could be replayed; see `replay corpus check`"
        if self.replayed == 0 and not (self.shard and not self.results):
            return "no record could be replayed; see above why"  # a part may be empty
        return None

    @property
    def headline(self) -> str:
        """The whole replay in one sentence."""
        total = len(self.results)
        text = "1 record" if total == 1 else f"{total} records"
        if self.selected_from is not None:
            text += f" (of {self.selected_from})"
        apart = [f", {self.totals[each.value]} {each.value}" for each in _APART
                 if self.totals[each.value]]  # fmt: skip
        clusters = [cluster for cluster in self.clusters if cluster.outcome not in _APART]
        changed, ways = sum(cluster.count for cluster in clusters), len(clusters)
        if not changed:
            return "".join([text, *(apart or [", none changed"])])
        noun = "kernel" if changed == 1 else "kernels"
        how = f", {changed} {noun} changed in {ways} {'way' if ways == 1 else 'ways'}"
        return "".join([text, how, *apart])


def short(key: str) -> str:
    """The prefix of a key by which people name it."""
    return key[:_SHORT]


def more_about(report: Report, result: Result) -> str:
    """The command that shows more of one result; of a record without a key, of the corpus."""
    if not result.key:
        return f"replay corpus check --corpus {quoted(report.corpus)}"
    command = "show" if result.outcome in (Outcome.UNREADABLE, Outcome.MISSING) else "diff"
    if result.numerics in FAILED_RUNS:
        command = "verify"
    key = f"{short(result.key)} --corpus {quoted(report.corpus)}"
    options = report.options if command != "show" else ""
    return " ".join(part for part in (f"replay {command}", key, options) if part)


def acceptance(report: Report) -> str | None:
    """The command that accepts what fails the gate for being different, and not for being wrong."""
    refused = set(report.gate.refused)
    if not any(each.key in refused and _is_right(each) for each in report.results):
        return None
    parts = ("replay accept --reason WHY", f"--corpus {quoted(report.corpus)}", report.options)
    return " ".join(part for part in parts if part)


def _is_right(result: Result) -> bool:
    return result.outcome in CHANGED and result.numerics in (Numerics.EXACT, Numerics.BOUNDED)


def trouble(result: Result) -> str:
    """Why a result is bad, in one line: wrong numbers first, then too much work."""
    if result.numerics in FAILED_RUNS:
        return result.numerics_reason or ""
    excess = result.excess if result.is_beyond else None
    return excess or result.numerics_reason or result.explanation or ""


def metric_text(summary: "Summary") -> str:
    """What a change does to one metric: `12 helped, 3 hurt of 20, mean x0.921 (5,321 -> 4,902)`."""
    words = [f"{summary.helped:,} helped, {summary.hurt:,} hurt"]
    if summary.better == "neither":
        words = [f"{summary.affected:,} differ"]
    words.append(f"of {summary.compared:,}")
    if summary.gained or summary.lost:
        words.append(f"({summary.gained:,} gained, {summary.lost:,} lost)")
    if summary.ratio is not None:
        words[-1] += ","
        words.append(f"mean x{summary.ratio:.3g}")
    if "/" not in summary.unit:  # a sum of shares means nothing
        words.append(f"({summary.old_total:,.10g} -> {summary.new_total:,.10g})")
    return " ".join(words)


def figures(report: Report) -> dict[str, str]:
    """Severities and metrics of all kernels by name, for formats that have a place for such."""
    return {
        **{f"numerics.{name}": str(count) for name, count in report.buckets.items()},
        **{f"severity.{name}": str(count) for name, count in report.severities.items()},
        **{f"metric.{each.name}": metric_text(each) for each in report.metrics if each.affected},
    }


def metrics_text(result: Result) -> str:
    """The metrics of one kernel that differ, a line each: `iterations 64 -> 128`."""
    differing = [(name, pair) for name, pair in result.metrics.items() if pair[0] != pair[1]]
    return "".join(f"{name} {_number(old)} -> {_number(new)}\n" for name, (old, new) in differing)


def _number(value: Number) -> str:
    return "unknown" if value is None else f"{value:,.10g}"


ONE_PROGRAM = "run once for old and new, which differ in blanks and comments alone"


def left_out(report: Report) -> str | None:
    """What the static counts of a report leave out, in a sentence."""
    count = max((summary.other_loops for summary in report.metrics), default=0)
    if not count:
        return None
    noun = "kernel" if count == 1 else "kernels"
    return f"counts of instructions leave out {count:,} {noun} whose loops differ"


def quoted(text: str) -> str:
    """A word as a shell reads it."""
    return text if text and all(c.isalnum() or c in "/._-+:=@" for c in text) else repr(text)


def failures(report: Report) -> Sequence[Result]:
    """Results with no answer, a wrong one, or too much work for it; the worst first."""
    order = list(Outcome)
    chosen = [result for result in report.results if result.is_beyond or not _is_answer(result)]
    return sorted(
        chosen, key=lambda result: (_is_answer(result), order.index(result.outcome), result.key)
    )


def _is_answer(result: Result) -> bool:
    """Whether all that is wrong with a result is how much work it does."""
    bad = (*NO_ANSWER, Outcome.NONDETERMINISTIC)
    return result.outcome not in bad and result.numerics not in FAILED_RUNS
