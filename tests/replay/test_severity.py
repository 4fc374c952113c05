"""How far off numbers are: elements, kernels, and what reports say of them."""

import json

import msgspec
import numpy as np
import pytest
from results import changed, report, same
from small_kernels import binary, compiled

from compiler.backends import open_device
from compiler.backends.reference import Bound
from compiler.target import REFERENCE
from replay.numerics.severity import ELEMENTS, elements_of, share_of_bound
from replay.numerics.tolerance import Severity, compare
from replay.numerics.verify import Judged, verify
from replay.outcome import Numerics
from replay.reports import find_format
from replay.reports.buckets import BUCKETS, SEVERITIES, bucket_of, severity_of


def judged(values, expected, error, strays=()):
    """A run that wrote `values` of float32 where `expected` within `error` was right."""
    expected = np.array(expected, dtype=np.float64)
    all_of = np.ones(expected.size, dtype=bool)
    bound = Bound(expected, np.full(expected.size, error), ~all_of, all_of)
    values = np.array(values, dtype=np.float32)
    comparison = compare("data0", "float32", bound, values, np.zeros_like(values))
    return Judged("grid", Numerics.WRONG, (("data0", comparison),), strays, "", None)


def test_elements_are_counted_by_how_far_off_they_are():
    runs = [judged([1, 1.0625, 1.25, 3, np.nan, 1.0078125], [1] * 6, 0.01)]
    assert elements_of(runs) == {
        "exact": 1, "bounded": 1, ">=0.01": 1, ">=0.1": 1, ">=1": 1, "structure": 1
    }  # fmt: skip


def test_elements_of_several_runs_add_up():
    run = judged([1, 2], [1, 1], 0.01)
    assert elements_of([run, run]) == {"exact": 2, ">=1": 2}


def test_the_worst_element_is_told_in_bounds():
    assert share_of_bound([judged([1, 1.25], [1, 1], 0.125)]) == 2
    assert share_of_bound([judged([1, 1.0625], [1, 1], 0.125)]) == 0.5
    assert share_of_bound([judged([1, 1], [1, 1], 0.125)]) == 0


def test_where_only_one_value_is_right_there_is_no_bound_to_measure_in():
    assert share_of_bound([judged([1, 1.25], [1, 1], 0.0)]) is None


def test_a_right_kernel_has_no_element_outside():
    verdict = verify(compiled(binary("ADD", 8)), open_device(REFERENCE.backend), "seed")
    assert set(elements_of(verdict.runs)) <= {"exact", "bounded", "undecided"}
    assert sum(elements_of(verdict.runs).values()) == 8 * len(verdict.runs)


def test_names_are_those_of_the_judge():
    assert tuple(severity.value for severity in Severity) == SEVERITIES
    assert set(SEVERITIES) < set(ELEMENTS)


def wrong(number, of_bound=None, **elements):
    return changed(number, numerics=Numerics.WRONG, of_bound=of_bound, elements=elements)


@pytest.mark.parametrize(
    ("numerics", "of_bound", "elements", "bucket"),
    [
        (Numerics.EXACT, 0.0, {}, "exact"),
        (Numerics.BOUNDED, 0.07, {}, "up to 0.1x"),
        (Numerics.BOUNDED, 1.0, {}, "up to 1x"),
        (Numerics.UNDECIDED, 0.5, {}, "undecided"),
        (Numerics.WRONG, 1.2, {"<0.01": 1}, "up to 2x"),
        (Numerics.WRONG, 1e9, {">=1": 1}, "above 1000x"),
        (Numerics.WRONG, None, {">=1": 1}, "no bound"),
        (Numerics.WRONG, None, {"structure": 1}, "structure"),
        (Numerics.WRONG, None, {}, "structure"),  # its run ended its process
        (Numerics.SKIPPED, None, {}, None),
        (None, None, {}, None),
    ],
)
def test_a_kernel_falls_into_one_bucket(numerics, of_bound, elements, bucket):
    result = changed(1, numerics=numerics, of_bound=of_bound, elements=elements)
    assert bucket_of(result) == bucket
    assert bucket is None or bucket in BUCKETS


def test_the_severity_is_that_of_the_worst_element():
    assert severity_of(wrong(1, **{"exact": 9, "<0.01": 4, ">=0.1": 1})) == ">=0.1"
    assert severity_of(changed(1, numerics=Numerics.EXACT)) is None


RIGHT = msgspec.structs.replace(same(3), numerics=Numerics.BOUNDED, of_bound=0.3)
BOTH = report([wrong(1, 40.0, **{">=0.1": 2, "exact": 6}), RIGHT])


def test_the_json_report_counts_kernels_and_elements():
    document = json.loads(find_format("json")(BOTH))
    assert document["buckets"] == {"up to 0.5x": 1, "up to 1000x": 1}
    assert document["severities"] == {">=0.1": 1}
    assert document["elements"] == {"exact": 6, ">=0.1": 2}
    assert document["records"][0]["of_bound"] == 40
    assert document["records"][1]["severity"] is None


@pytest.mark.parametrize("name", ["terminal", "json", "markdown", "sarif", "junit", "html"])
def test_every_report_says_how_severe_wrong_numbers_are(name):
    text = find_format(name)(BOTH).replace("&gt;", ">").replace("\\u003e", ">")
    assert ">=0.1" in text
