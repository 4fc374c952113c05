import json
import xml.etree.ElementTree as ET

import msgspec
import pytest
from results import changed, crashed, key, report, same

from replay.outcome import Beside, Numerics, Outcome, Result
from replay.policy import Policy
from replay.reports import FORMATS, find_format

EVERYTHING = report(
    [
        same(1),
        changed(2),
        crashed(3),
        changed(4, numerics=Numerics.WRONG, numerics_reason="y[7]"),
        Result(key=key(9), outcome=Outcome.SKIPPED, reason="no device"),
    ],
    compiles=7,
)


def render(name, what=EVERYTHING):
    return find_format(name)(what)


@pytest.mark.parametrize("name", [name for name, _ in FORMATS])
def test_every_format_renders_every_outcome(name):
    results = [Result(key=key(n), outcome=o, reason="why") for n, o in enumerate(Outcome)]
    unchanged = [r for r in results if r.outcome.value not in ("code", "opts", "renamed")]
    unchanged = [r for r in unchanged if r.outcome is not Outcome.NONDETERMINISTIC]
    assert render(name, report(unchanged))


def test_totals_add_up():
    totals = EVERYTHING.totals
    assert totals.pop("records") == sum(totals.values()) == 5


def test_json_has_the_published_fields():
    document = json.loads(render("json"))
    assert document["schema"] == 1
    assert document["totals"]["code"] == 2
    fields = {"key", "name", "target", "outcome", "numerics", "cluster", "reason"}
    assert fields <= document["records"][0].keys()
    assert document["gate"]["passed"] is False
    assert document["clusters"][0]["count"] == 2


def test_junit_has_no_attribute_that_the_schema_of_jenkins_lacks():
    """`skipped` is one of suites alone, there."""
    document = ET.fromstring(render("junit"))
    assert set(document.attrib) == {"name", "tests", "failures", "errors", "time"}
    assert (document.get("tests"), document.get("failures"), document.get("errors")) == (
        "5",
        "2",
        "1",
    )


def test_sarif_has_the_place_of_a_corpus_as_a_uri():
    elsewhere = msgspec.structs.replace(report([crashed(1)]), corpus="my corpus/#1")
    document = json.loads(render("sarif", elsewhere))
    (result,) = document["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "my%20corpus/%231"


def test_a_terminal_report_is_one_screen_if_everything_changed():
    many = [changed(n, "x = 0;", f"x = {'y' * (n % 40)}{'+z' * (n % 9)};") for n in range(500)]
    lines = render("terminal", report(many + [crashed(n) for n in range(600, 700)])).splitlines()
    assert len(lines) < 40
    assert any("500 code" in line and "= 600 records" in line for line in lines)


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_what_was_run_once_for_old_and_new_is_counted_apart(name):
    ways = (Beside.TEXT, Beside.TEXT, Beside.RUN)
    run = [changed(n, numerics=Numerics.EXACT, beside=way) for n, way in enumerate(ways)]
    lines = [line for line in render(name, report(run)).splitlines() if "run once" in line]
    assert [line.strip(" |").split()[-1] for line in lines] == ["2"]


def test_every_failure_on_a_terminal_is_followed_by_the_command_that_shows_more():
    lines = render("terminal").splitlines()
    crash = next(number for number, line in enumerate(lines) if "crash 000000000000" in line)
    assert lines[crash + 1].strip() == "replay diff 000000000000 --corpus corpus"


def test_a_terminal_report_has_no_escape_sequences_unless_asked():
    assert "\x1b" not in render("terminal")


def test_names_from_a_corpus_cannot_steer_a_terminal():
    evil = Result(key=key(1), outcome=Outcome.CRASH, name="\x1b[2J", reason="\x1b]0;x\x07")
    assert "\x1b" not in render("terminal", report([evil]))
    assert "\x1b" not in render("markdown", report([evil]))


def test_junit_counts_failures_errors_and_skips():
    suite = ET.fromstring(render("junit")).find("testsuite")
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "2", "errors": "1", "skipped": "1"}


def test_junit_fails_what_the_policy_refuses_and_nothing_else():
    results = [changed(1, numerics=Numerics.EXACT), changed(2, numerics=Numerics.BOUNDED)]
    policy = Policy(allow=("same", "code/exact"))
    suite = ET.fromstring(render("junit", report(results, policy))).find("testsuite")
    assert [case.find("failure") is not None for case in suite.findall("testcase")] == [False, True]


def test_junit_passes_numbers_within_their_bound():
    inside = msgspec.structs.replace(
        same(1), numerics=Numerics.BOUNDED, numerics_reason="uses 3% of the bound"
    )
    assert ET.fromstring(render("junit", report([inside]))).get("failures") == "0"


def test_markdown_shows_a_diff_for_each_cluster():
    text = render("markdown")
    assert text.startswith("## Replay FAILED: 5 records, 3 kernels changed in 2 ways")
    assert "-   a = b - c;" in text


@pytest.mark.parametrize(
    ("what", "code"),
    [
        (report([same(1)]), 0),
        (report([changed(1)]), 1),
        (report([Result(key=key(1), outcome=Outcome.UNREADABLE)]), 3),
        (report([same(1)], is_interrupted=True), 130),
    ],
)
def test_the_exit_code_says_how_it_went(what, code):
    assert what.exit_code == code


def test_html_asks_nothing_of_the_network_and_cannot_be_broken_out_of():
    evil = Result(key=key(1), outcome=Outcome.CRASH, name="</script><img src=x>", reason="<b>")
    page = render("html", report([evil, changed(2, new="  a = <i>;")]))
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("</script>") == page.count("<script")
    assert "<img" not in page
    assert "<i>" not in page


def test_html_has_every_record_and_a_diff_for_each_cluster():
    page = render("html")
    rows = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [row[3] for row in rows] == ["crash", "code", "code", "skipped", "same"]
    assert page.count('class="cluster"') == 2
    levels = json.loads(page.split('id="levels-1">')[1].split("</script>")[0])
    assert ["other", "  a = b - c;", "  a = c - b;"] in dict(levels)["source"]


def test_html_of_ten_thousand_records_is_small():
    page = render("html", report([changed(n) for n in range(10_000)]))
    assert len(page) < 5_000_000


def test_sarif_has_one_result_for_each_cluster_and_each_wrong_kernel():
    run = json.loads(render("sarif"))["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["code", "crash", "code/wrong"]
    assert "replay diff" in run["results"][0]["message"]["text"]
