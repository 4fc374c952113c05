"""All that a report says, computed once; formats are pure functions of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from replay.cluster import Cluster
from replay.gate import Gate
from replay.outcome import NO_ANSWER, Numerics, Outcome, Result

SCHEMA = 1
_SHORT = 12


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
    def machine_code(self) -> dict[str, int]:
        """`equal` and `differs` to count, for changed kernels whose instructions are known."""
        counts = Counter(result.machine_code for result in self.results if result.machine_code)
        return dict(sorted(counts.items()))

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
        """0 passed, 1 gate failed, 3 nothing could be replayed, 130 interrupted."""
        if self.is_interrupted:
            return 130
        if self.replayed == 0 and not (self.shard and not self.results):
            return 3  # a part may be empty, a whole may not
        return 0 if self.gate.passed else 1

    @property
    def headline(self) -> str:
        """The whole replay in one sentence."""
        changed = sum(cluster.count for cluster in self.clusters)
        ways = len(self.clusters)
        text = f"{len(self.results)} records"
        if self.selected_from is not None:
            text += f" (of {self.selected_from})"
        if not changed:
            return f"{text}, none changed"
        noun = "kernel" if changed == 1 else "kernels"
        return f"{text}, {changed} {noun} changed in {ways} {'way' if ways == 1 else 'ways'}"


def short(key: str) -> str:
    """The prefix of a key by which people name it."""
    return key[:_SHORT]


def more_about(report: Report, result: Result) -> str:
    """The command that shows more of one result."""
    command = "show" if result.outcome in (Outcome.UNREADABLE, Outcome.MISSING) else "diff"
    if result.numerics is Numerics.WRONG:
        command = "verify"
    key = f"{short(result.key)} --corpus {quoted(report.corpus)}"
    options = report.options if command != "show" else ""
    return " ".join(part for part in (f"replay {command}", key, options) if part)


def quoted(text: str) -> str:
    """A word as a shell reads it."""
    return text if text and all(c.isalnum() or c in "/._-+:=@" for c in text) else repr(text)


def failures(report: Report) -> Sequence[Result]:
    """Results with no answer, or a wrong one; the worst first."""
    order = list(Outcome)
    bad = (*NO_ANSWER, Outcome.NONDETERMINISTIC)
    chosen = [
        result
        for result in report.results
        if result.outcome in bad or result.numerics is Numerics.WRONG
    ]
    return sorted(chosen, key=lambda result: (order.index(result.outcome), result.key))
