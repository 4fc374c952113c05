from datetime import date

import msgspec
import pytest
from results import changed, crashed, key, same

from replay.approvals import Approval, Ledger, add_approvals, read_ledger
from replay.compare.diff import digest_of
from replay.errors import PolicyError
from replay.gate import pass_or_fail, with_approvals
from replay.outcome import Numerics, Outcome, Result
from replay.policy import DEFAULT, Policy, parse_policy, read_policy

TODAY = date(2026, 5, 1)


def with_numerics(result, numerics):
    return msgspec.structs.replace(result, numerics=numerics)


@pytest.mark.parametrize("outcome", [Outcome.SAME, Outcome.RENAMED])
def test_without_a_policy_same_and_renamed_pass(outcome):
    assert pass_or_fail([Result(key=key(1), outcome=outcome)], DEFAULT).passed


@pytest.mark.parametrize(
    "outcome", [o for o in Outcome if o not in (Outcome.SAME, Outcome.RENAMED)]
)
def test_without_a_policy_every_other_outcome_fails(outcome):
    gate = pass_or_fail([same(1), Result(key=key(2), outcome=outcome)], DEFAULT)
    assert f"1 record is {outcome.value}" in gate.why


def test_nothing_replayed_is_no_pass():
    assert not pass_or_fail([], DEFAULT).passed


def test_a_same_kernel_with_wrong_numbers_fails():
    gate = pass_or_fail([with_numerics(same(1), Numerics.WRONG)], DEFAULT)
    assert gate.why == ("1 record is same/wrong",)


def test_a_policy_can_allow_changed_code_that_is_exact():
    policy = Policy(allow=("same", "code/exact"))
    assert pass_or_fail([with_numerics(changed(1), Numerics.EXACT)], policy).passed
    assert not pass_or_fail([with_numerics(changed(1), Numerics.BOUNDED)], policy).passed


def test_fewer_records_than_the_minimum_fail():
    skipped = Result(key=key(2), outcome=Outcome.SKIPPED)
    policy = Policy(allow=("same", "skipped"), minimum="100%")
    gate = pass_or_fail([same(1), skipped], policy)
    assert gate.why == ("1 of 2 records were replayed, the minimum is 2",)


def test_an_incomplete_corpus_fails():
    gate = pass_or_fail([same(1)], DEFAULT, lost=3)
    assert "3 records are lost" in gate.why[0]


def test_an_approved_change_passes():
    result = changed(1)
    approval = Approval(digest_of(result.old), digest_of(result.new), None, "ada", "wider")
    ledger = Ledger({(approval.old, approval.new): approval}, {})
    assert pass_or_fail(with_approvals([result], ledger), DEFAULT).passed


def test_an_approval_holds_for_no_other_change():
    approval = Approval(digest_of(changed(1).old), "0" * 16, None, "ada", "wider")
    ledger = Ledger({(approval.old, approval.new): approval}, {})
    assert not pass_or_fail(with_approvals([changed(1)], ledger), DEFAULT).passed


def test_wrong_numbers_are_not_approved_by_a_ledger():
    result = with_numerics(changed(1), Numerics.WRONG)
    approval = Approval(digest_of(result.old), digest_of(result.new), None, "ada", "wider")
    ledger = Ledger({(approval.old, approval.new): approval}, {})
    assert not pass_or_fail(with_approvals([result], ledger), DEFAULT).passed


def test_an_approval_that_ran_out_is_named(tmp_path):
    result = changed(1)
    over = Approval(digest_of(result.old), digest_of(result.new), date(2026, 4, 30), "ada", "wider")
    add_approvals(tmp_path / "ledger", [over])
    (marked,) = with_approvals([result], read_ledger(tmp_path / "ledger", TODAY))
    assert marked.approval is None
    assert marked.explanation == "source; its approval ran out on 2026-04-30"


def test_a_crash_cannot_be_approved():
    (marked,) = with_approvals([crashed(1)], Ledger({}, {}))
    assert marked.approval is None


def test_a_ledger_keeps_one_line_for_each_pair(tmp_path):
    path = tmp_path / "ledger"
    first = Approval("a" * 16, "b" * 16, None, "ada", "wider")
    assert add_approvals(path, [first]) == 1
    assert add_approvals(path, [first]) == 0
    assert path.read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("abc", "has 1 of 5 fields"),
        ("x\ty\t-\tada\twhy", "digests have 16 hex digits"),
        (f"{'a' * 16}\t{'b' * 16}\tsoon\tada\twhy", "'soon' is no date"),
        (f"{'a' * 16}\t{'b' * 16}\t-\tada\t ", "says not who approved it or why"),
    ],
)
def test_a_bad_line_of_a_ledger_is_named(tmp_path, line, fact):
    path = tmp_path / "ledger"
    path.write_text(f"# head\n{line}\n")
    with pytest.raises(PolicyError, match=f"line 2: {fact}"):
        read_ledger(path, TODAY)


@pytest.mark.parametrize(
    ("table", "fact"),
    [
        ({"allow": "same"}, r"tool\.replay\.allow: Expected `array`"),
        ({"allow": ["same", "sane"]}, r"tool\.replay\.allow\[1\]: 'sane' is no outcome"),
        ({"allow": ["code/fine"]}, r"tool\.replay\.allow\[0\]: 'code/fine' is no numeric verdict"),
        ({"allow": ["unreadable"]}, r"tool\.replay\.allow\[0\]: 'unreadable' cannot be allowed"),
        ({"allow": ["code/wrong"]}, r"tool\.replay\.allow\[0\]: 'code/wrong' cannot be allowed"),
        ({"allow": ["same/unfinished"]}, r"allow\[0\]: 'same/unfinished' cannot be allowed"),
        ({"numerics": ["exact", "wrong"]}, r"replay\.numerics\[1\]: 'wrong' cannot be allowed"),
        ({"subject": 3}, r"tool\.replay\.subject: Expected `str \| null`"),
        ({"numerics": ["fine"]}, r"tool\.replay\.numerics\[0\]: Invalid enum value"),
        ({"minimum": "most"}, r"tool\.replay\.minimum: is 'most'"),
        ({"minimum": "²%"}, r"tool\.replay\.minimum: is '²%'"),
        ({"minimum": 0}, r"tool\.replay\.minimum: is 0"),
        ({"iterations_factor": 0.5}, r"tool\.replay\.iterations_factor: is 0.5; use 1 or more"),
        ({"loads_factor": "2"}, r"tool\.replay\.loads_factor: Expected `float`"),
        ({"loads_factor": float("nan")}, r"tool\.replay\.loads_factor: is nan"),
        ({"alow": []}, r"tool\.replay: Object contains unknown field `alow`"),
    ],
)
def test_a_bad_policy_names_its_path(table, fact):
    with pytest.raises(PolicyError, match=fact):
        parse_policy(table, "pyproject.toml")


def test_a_missing_file_is_the_default_policy(tmp_path):
    assert read_policy(tmp_path / "pyproject.toml") == DEFAULT


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool")
    with pytest.raises(PolicyError, match="policy"):
        read_policy(tmp_path / "pyproject.toml")
