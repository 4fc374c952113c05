"""The report as JSON, with a published schema: see docs/replay.md."""

import msgspec

from replay.reports.model import SCHEMA, Report, more_about

_SHOWN_LOG = 4000


def render(report: Report) -> str:
    """The report as one JSON object."""
    document = {
        "schema": SCHEMA,
        "corpus": report.corpus,
        "mode": report.mode,
        "baseline": report.baseline,
        "headline": report.headline,
        "totals": report.totals,
        "numerics": report.numerics,
        "weak": report.weak,
        "machine_code": report.machine_code,
        "compiles": report.compiles,
        "interrupted": report.is_interrupted,
        "notes": list(report.notes),
        "gate": {"passed": report.gate.passed, "why": list(report.gate.why)},
        "clusters": [
            {
                "number": cluster.number,
                "title": cluster.title,
                "outcome": cluster.outcome.value,
                "count": cluster.count,
                "example": cluster.example,
                "keys": list(cluster.keys),
            }
            for cluster in report.clusters
        ],
        "records": [
            {
                "key": result.key,
                "name": result.name,
                "target": result.target,
                "test": result.test_id,
                "outcome": result.outcome.value,
                "numerics": result.numerics.value if result.numerics else None,
                "numerics_reason": result.numerics_reason,
                "weak": result.is_weak,
                "facets": [facet.value for facet in result.facets],
                "stage": result.stage,
                "machine_code": result.machine_code,
                "cluster": result.cluster,
                "approved": result.approval,
                "reason": result.reason,
                "log": result.log[-_SHOWN_LOG:],
                "more": more_about(report, result),
            }
            for result in report.results
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
