"""Both sides of a change, measured: sources where the report is made, machine code in workers."""

from collections.abc import Mapping, Sequence

import msgspec

from replay.artefact import Artefact
from replay.metrics.assembly import code_of
from replay.metrics.mca import cycles_of
from replay.metrics.sizes import elements_written
from replay.metrics.table import METRICS, Facts, Needs
from replay.metrics.work import work_of
from replay.outcome import Beside, Pair, Result


def measured(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results; those that differ with the metrics of their sources, beside what they have."""
    return tuple(
        result
        if result.old is None or result.new is None
        else _with_metrics(result, _compare(result, result.old, result.new))
        for result in results
    )


def _compare(result: Result, old: Artefact, new: Artefact) -> dict[str, Pair]:
    """One program is measured by the text that it had: patterns read lines as they were written."""
    if result.beside is Beside.TEXT:
        new = msgspec.structs.replace(new, source=old.source)
    return compare_sources(old, new)


def compare_sources(old: Artefact, new: Artefact) -> dict[str, Pair]:
    """The metrics that need no machine code, of both sides."""
    return _pairs(_facts(old), _facts(new), Needs.SOURCE)


def compare_code(old: str, new: str) -> dict[str, Pair]:
    """The metrics of two assemblies. Equal ones are not simulated: their cycles are equal, too."""
    before, after = code_of(old), code_of(new)
    cycles: list[float | None] = [None, None]
    if old != new and before is not None and after is not None:
        cycles = cycles_of((old, new))
    return _pairs(
        Facts(code=before, cycles=cycles[0]), Facts(code=after, cycles=cycles[1]), Needs.CODE
    )


def _facts(artefact: Artefact) -> Facts:
    return Facts(artefact, work_of(artefact), elements_written(artefact))


def _pairs(old: Facts, new: Facts, needs: Needs) -> dict[str, Pair]:
    """Both sides of each metric that is known of one of them."""
    pairs = {
        metric.name: (metric.measure(old), metric.measure(new))
        for metric in METRICS
        if metric.needs is needs
    }
    return {name: pair for name, pair in pairs.items() if pair != (None, None)}


def _with_metrics(result: Result, pairs: Mapping[str, Pair]) -> Result:
    """In the order of the table, whichever was found first."""
    found = {**pairs, **result.metrics}
    ordered = {metric.name: found[metric.name] for metric in METRICS if metric.name in found}
    return msgspec.structs.replace(result, metrics=ordered)
