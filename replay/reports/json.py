"""The report as JSON. Its schema is made from these classes and published: docs/report.schema.json.

To add a field: a field here, a word in docs/replay.md, and `make schema`. None is ever renamed.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from replay.compare.cluster import Cluster
from replay.outcome import Beside, Facet, Numerics, Outcome, Result
from replay.reports.buckets import bucket_of, severity_of
from replay.reports.model import SCHEMA, Report, more_about

_SHOWN_LOG = 4000

Count = Annotated[int, Meta(ge=0)]
Key = Annotated[str, Meta(description="the key of a record, in hex digits")]


class _Object(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object whose every field is there in every report; a newer one may have more."""


class GateObject(_Object, frozen=True, kw_only=True):
    passed: bool
    why: tuple[str, ...]


class ClusterObject(_Object, frozen=True, kw_only=True):
    number: Annotated[int, Meta(ge=1)]
    title: str
    outcome: Outcome
    count: Count
    example: Key
    keys: tuple[Key, ...]


class MetricObject(_Object, frozen=True, kw_only=True):
    """One metric of all kernels that differ and were measured."""

    name: str
    unit: str
    better: Annotated[str, Meta(description="`lower`, `higher` or `neither`")]
    meaning: str
    compared: Annotated[Count, Meta(description="kernels measured on both sides")]
    affected: Annotated[Count, Meta(description="of those: the metric differs")]
    helped: Count
    hurt: Count
    other_loops: Annotated[
        Count, Meta(description="kernels left out: other loops, so that static counts say nothing")
    ]
    gained: Annotated[Count, Meta(description="kernels known on the new side only")]
    lost: Annotated[Count, Meta(description="kernels known on the old side only")]
    old_total: float
    new_total: float
    ratio: Annotated[float | None, Meta(description="geometric mean of new / old")]
    worst: Annotated[Key | None, Meta(description="the kernel that it hurt most")]


class PairObject(_Object, frozen=True, kw_only=True):
    old: int | float | None
    new: int | float | None


class TimingObject(_Object, frozen=True, kw_only=True):
    """The median of paired ratios, and an interval that holds it with this probability."""

    ratio: float
    low: float
    high: float
    coverage: float
    rounds: Count
    verdict: Annotated[str, Meta(description="`helped`, `hurt` or `undecided`")]


class RecordObject(_Object, frozen=True, kw_only=True):
    key: Key
    name: str
    target: str
    test: str | None
    outcome: Outcome
    numerics: Numerics | None
    numerics_reason: str | None
    bucket: Annotated[str | None, Meta(description="bounds that the worst element is off")]
    severity: Annotated[str | None, Meta(description="relative distance of the worst element")]
    of_bound: Annotated[float | None, Meta(description="distance of the worst element in bounds")]
    elements: dict[str, Count]
    weak: bool
    facets: tuple[Facet, ...]
    stage: str | None
    beside: Annotated[
        Beside | None, Meta(description="the old kernel took part by a `run`, or by its `text`")
    ]
    machine_code: str | None
    cluster: int | None
    approved: str | None
    metrics: Annotated[dict[str, PairObject], Meta(description="metric to values, if it differs")]
    timing: Annotated[
        TimingObject | None, Meta(description="`--time`: new over old on this host")
    ] = None
    excess: Annotated[str | None, Meta(description="how it grew beyond what the policy allows")]
    reason: str | None
    log: str
    more: Annotated[str, Meta(description="the command that shows more")]


class Document(_Object, frozen=True, kw_only=True):
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    corpus: str
    mode: str
    baseline: str
    headline: str
    totals: Annotated[
        dict[str, Count],
        Meta(description="outcome to count, every outcome, and `records`: the sum of the others"),
    ]
    numerics: Annotated[dict[str, Count], Meta(description="verdict to count")]
    buckets: Annotated[
        dict[str, Count], Meta(description="bounds that the worst element is off, to records")
    ]
    severities: Annotated[
        dict[str, Count], Meta(description="relative distance of the worst element, wrong records")
    ]
    elements: Annotated[dict[str, Count], Meta(description="elements that were compared")]
    weak: Count
    beside: Annotated[
        dict[str, Count], Meta(description="how old kernels took part in runs, to records")
    ]
    machine_code: dict[str, Count]
    metrics: tuple[MetricObject, ...]
    compiles: Count
    interrupted: bool
    notes: tuple[str, ...]
    gate: GateObject
    clusters: tuple[ClusterObject, ...]
    records: tuple[RecordObject, ...]


def render(report: Report) -> str:
    """The report as one JSON object."""
    document = Document(
        schema=SCHEMA,
        corpus=report.corpus,
        mode=report.mode,
        baseline=report.baseline,
        headline=report.headline,
        totals=report.totals,
        numerics=report.numerics,
        buckets=report.buckets,
        severities=report.severities,
        elements=report.elements,
        weak=report.weak,
        beside=report.beside,
        machine_code=report.machine_code,
        metrics=tuple(MetricObject(**msgspec.structs.asdict(each)) for each in report.metrics),
        compiles=report.compiles,
        interrupted=report.is_interrupted,
        notes=tuple(report.notes),
        gate=GateObject(passed=report.gate.passed, why=tuple(report.gate.why)),
        clusters=tuple(_cluster(cluster) for cluster in report.clusters),
        records=tuple(_record(report, result) for result in report.results),
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def schema() -> str:
    """The JSON Schema (2020-12) of every report with this number."""
    made = msgspec.json.schema(Document)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    body = msgspec.json.encode(made, order="deterministic")
    return msgspec.json.format(body, indent=1).decode() + "\n"


def _cluster(cluster: Cluster) -> ClusterObject:
    return ClusterObject(
        number=cluster.number,
        title=cluster.title,
        outcome=cluster.outcome,
        count=cluster.count,
        example=cluster.example,
        keys=cluster.keys,
    )


def _record(report: Report, result: Result) -> RecordObject:
    return RecordObject(
        key=result.key,
        name=result.name,
        target=result.target,
        test=result.test_id,
        outcome=result.outcome,
        numerics=result.numerics,
        numerics_reason=result.numerics_reason,
        bucket=bucket_of(result),
        severity=severity_of(result),
        of_bound=result.of_bound,
        elements=dict(result.elements),
        weak=result.is_weak,
        facets=result.facets,
        stage=result.stage,
        beside=result.beside,
        machine_code=result.machine_code,
        cluster=result.cluster,
        approved=result.approval,
        metrics={name: PairObject(old=a, new=b) for name, (a, b) in result.metrics.items()},
        timing=_timing(result),
        excess=result.excess,
        reason=result.explanation,
        log=result.log[-_SHOWN_LOG:],
        more=more_about(report, result),
    )


def _timing(result: Result) -> TimingObject | None:
    if result.timing is None:
        return None
    return TimingObject(**msgspec.structs.asdict(result.timing), verdict=result.timing.verdict)
