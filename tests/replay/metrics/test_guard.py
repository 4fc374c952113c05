"""Right numbers do not excuse a kernel that does many times the work."""

from math import inf

import pytest
from results import NO_LEDGER, changed, report, same

from replay.approvals import Approval, Ledger
from replay.compare.diff import digest_of
from replay.gate import pass_or_fail, with_approvals
from replay.metrics import guarded
from replay.outcome import Numerics
from replay.policy import Policy
from replay.reports import find_format

LENIENT = Policy(allow=("same", "code/exact"))


def grown(old, new, metric="iterations"):
    return changed(1, numerics=Numerics.EXACT, metrics={metric: (old, new)})


def judged(result, policy=LENIENT, ledger=NO_LEDGER):
    results = with_approvals(guarded([same(2), result], policy), ledger)
    return pass_or_fail(results, policy)


@pytest.mark.parametrize("metric", ["iterations", "loads_per_element"])
def test_exact_numbers_at_many_times_the_work_fail(metric):
    gate = judged(grown(64, 512, metric))
    assert not gate.passed
    assert f"{metric} 64 -> 512 (x8), at most x2" in gate.why[0]


def test_growth_up_to_the_factor_passes():
    assert judged(grown(64, 128)).passed
    assert not judged(grown(64, 129)).passed


def test_less_work_passes():
    assert judged(grown(512, 1)).passed


def test_work_from_nothing_is_growth():
    assert not judged(grown(0, 1, "loads_per_element")).passed


def test_work_that_can_no_longer_be_counted_fails():
    assert "cannot be told now" in judged(grown(64, None)).why[0]


def test_work_that_never_could_be_counted_is_no_reason():
    assert judged(grown(None, 64)).passed


@pytest.mark.parametrize(("factor", "passes"), [(8.0, True), (7.9, False), (inf, True)])
def test_the_policy_sets_the_factor(factor, passes):
    policy = Policy(allow=("same", "code/exact"), iterations_factor=factor)
    assert judged(grown(64, 512), policy).passed is passes


def test_an_approval_of_this_very_difference_excuses_it():
    result = grown(64, 512)
    pair = (digest_of(result.old), digest_of(result.new))
    approval = Approval(*pair, None, "someone", "half the registers")
    assert judged(result, ledger=Ledger({pair: approval}, {})).passed


@pytest.mark.parametrize("name", ["terminal", "json", "markdown", "sarif", "junit", "html"])
def test_every_report_says_which_kernel_grew_and_how(name):
    results = guarded([grown(64, 512)], LENIENT)
    assert "64 -> 512 (x8)" in find_format(name)(report(results, LENIENT)).replace("&gt;", ">")
