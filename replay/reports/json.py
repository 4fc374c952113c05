"""The report as JSON. Its schema is made from these classes and published: docs/report.schema.json.

To add a field: a field here, a word in docs/replay.md, and `make schema`. None is ever renamed.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from replay.cluster import Cluster
from replay.outcome import Facet, Numerics, Outcome, Result
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


class RecordObject(_Object, frozen=True, kw_only=True):
    key: Key
    name: str
    target: str
    test: str | None
    outcome: Outcome
    numerics: Numerics | None
    numerics_reason: str | None
    weak: bool
    facets: tuple[Facet, ...]
    stage: str | None
    machine_code: str | None
    cluster: int | None
    approved: str | None
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
    weak: Count
    machine_code: dict[str, Count]
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
        weak=report.weak,
        machine_code=report.machine_code,
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
        weak=result.is_weak,
        facets=result.facets,
        stage=result.stage,
        machine_code=result.machine_code,
        cluster=result.cluster,
        approved=result.approval,
        reason=result.reason,
        log=result.log[-_SHOWN_LOG:],
        more=more_about(report, result),
    )
