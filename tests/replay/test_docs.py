"""docs/replay.md says what the code does."""

import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from results import changed, crashed, report, same

from replay.metrics import METRICS
from replay.outcome import Numerics, Outcome
from replay.policy import DEFAULT, parse_policy
from replay.reports import FORMATS, find_format
from replay.reports.json import Document, schema
from replay.reports.model import SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "replay.md").read_text(encoding="utf-8")


def rows(section):
    body = TEXT.split(f"## {section}\n")[1].split("\n## ")[0]
    return [row.strip(" |").split(" | ")[0] for row in body.splitlines() if row.startswith("| ")]


def test_every_outcome_and_verdict_is_explained():
    named = {name for row in rows("Outcomes") for name in row.split(", ")}
    assert {member.value for enum in (Outcome, Numerics) for member in enum} <= named


def test_every_field_of_the_json_report_is_explained():
    document = json.loads(find_format("json")(report([same(1), changed(2)])))
    assert set(document) == {n for row in rows("The JSON report")[1:] for n in row.split(", ")}
    (fields,) = [line for line in TEXT.splitlines() if line.startswith("| records |")]
    assert set(document["records"][0]) == set(re.findall(r"`(\w+)`", fields))


def test_the_published_schema_is_that_of_the_reports():
    published = (DOCS / "report.schema.json").read_text(encoding="utf-8")
    assert published == schema(), "the report has changed: run `make schema`, and review it"


@pytest.mark.parametrize("results", [[], [same(1), changed(2), changed(3), crashed(4)]])
def test_a_report_is_valid_and_of_the_published_schema(results):
    document = msgspec.json.decode(find_format("json")(report(results)), type=Document)
    assert document.schema == SCHEMA
    assert document.totals["records"] == len(document.records) == len(results)


@pytest.mark.parametrize("field", ["schema", "gate", "records"])
def test_an_object_that_lacks_a_field_is_no_report(field):
    document = json.loads(find_format("json")(report([same(1)])))
    del document[field]
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(document, Document)


def test_every_metric_is_explained_with_its_unit():
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    for metric in METRICS:
        assert f"| {metric.name} | {metric.unit} | {metric.better.value} |" in "\n".join(lines)


def test_every_format_is_named():
    assert all(f"`{name}`" in TEXT or f"{name}:PATH" in TEXT for name, _ in FORMATS)


def test_the_example_of_a_policy_is_one():
    example = tomllib.loads(TEXT.split("```toml\n")[1].split("```")[0])["tool"]["replay"]
    assert parse_policy(example, "docs").approvals == DEFAULT.approvals
