"""The report as SARIF 2.1.0, for services that show findings: one result a cluster or failure."""

import json
from urllib.parse import quote

from replay.compare.cluster import Cluster
from replay.outcome import Outcome
from replay.reports.model import Report, failures, figures, more_about, short, trouble

_ERRORS = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.ERROR, Outcome.UNREADABLE)
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """The report as one SARIF log."""
    failed = failures(report)
    in_clusters = {key for cluster in report.clusters for key in cluster.keys}
    results = [_cluster_result(report, cluster) for cluster in report.clusters]
    results += [
        _result(
            result.kind,
            f"{short(result.key)} {result.name}: {trouble(result)}",
            more_about(report, result),
            report.corpus,
            is_error=True,
        )
        for result in failed
        if result.numerics is not None or result.key not in in_clusters
    ]
    rules = sorted({str(result["ruleId"]) for result in results})
    driver = {"name": "kernel-replay", "rules": [{"id": rule} for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "results": results,
        "properties": figures(report),
        "invocations": [{"executionSuccessful": not report.is_interrupted}],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1) + "\n"


def _cluster_result(report: Report, cluster: Cluster) -> dict[str, object]:
    example = next(result for result in report.results if result.key == cluster.example)
    return _result(
        cluster.outcome.value,
        f"{cluster.count} kernels: {cluster.title}",
        more_about(report, example),
        report.corpus,
        is_error=cluster.outcome in _ERRORS,
    )


def _result(rule: str, text: str, more: str, corpus: str, *, is_error: bool) -> dict[str, object]:
    location = {"physicalLocation": {"artifactLocation": {"uri": quote(corpus)}}}
    return {
        "ruleId": rule,
        "level": "error" if is_error else "warning",
        "message": {"text": f"{text}\n{more}"},
        "locations": [location],
    }
