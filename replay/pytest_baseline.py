"""What the kernels of a test run are measured by: a baseline, as far as the run is about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec

from corpus import (
    Form,
    KernelRecord,
    Provenance,
    Reader,
    Stored,
    differing_fields,
    export_corpus,
    open_reader,
    open_writer,
)
from replay.approvals import read_ledger
from replay.compare.cluster import with_clusters
from replay.errors import ReplayError
from replay.gate import pass_or_fail, with_approvals, with_growth
from replay.outcome import Outcome, Result
from replay.phases.fresh import compare
from replay.phases.plan import Source
from replay.policy import read_policy
from replay.reports.model import Report, short
from replay.reports.terminal import render
from replay.scratch import scratch_directory
from replay.text import one_line

_SHOWN_TESTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which tests a run was about. `places` are test ids, or where they begin; "" is all of them.

    A run that a choice of tests narrowed says nothing of the others, not even that they are gone.
    """

    ran: frozenset[str]
    skipped: frozenset[str]
    places: tuple[str, ...]
    is_narrowed: bool

    def has(self, test: str | None) -> bool:
        """Whether the run would have compiled the kernels of `test` again, were it still there."""
        if test is not None and (test in self.ran or test in self.skipped):
            return True
        return not self.is_narrowed and any(_is_in(test or "", place) for place in self.places)


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of a baseline."""

    new: int
    changed: int
    removed: int
    kept: int

    @property
    def sentence(self) -> str:
        return f"{self.new} new, {self.changed} changed, {self.removed} gone, {self.kept} as before"


def compare_with(
    baseline: Path, fresh: Path, scope: Scope, policy_path: Path, today: date
) -> Report:
    """Judge what a run compiled by a baseline and a policy. Nothing is compiled or written."""
    policy = read_policy(policy_path)
    ledger = read_ledger(policy_path.parent / policy.approvals, today)
    with open_reader(baseline) as old, open_reader(fresh, allow_empty=True) as new:
        found = compare(Source.every(old), new)
        placed = [result for each in found.ordered() if (result := _placed(each, scope))]
        grown = with_growth(placed, policy)
        results, clusters = with_clusters(with_approvals(grown, ledger))
        damage = (*old.why_damaged(), *new.why_damaged())
        return Report(
            corpus=str(baseline),
            mode="pytest",
            baseline=str(baseline),
            results=results,
            clusters=clusters,
            gate=pass_or_fail(results, policy, lost=old.lost + new.lost, damage=damage),
            selected_from=len(old) if len(results) < len(old) else None,
        )


def judge_lines(report: Report) -> tuple[str, ...]:
    """The report with the tests whose kernels are not the same; the verdict comes last."""
    lines = render(report).rstrip("\n").split("\n")
    verdict = next(at for at, line in enumerate(lines) if line.startswith("gate "))
    told = [result for result in report.results if result.outcome is not Outcome.SAME]
    tests = [_test_line(result) for result in told[:_SHOWN_TESTS]]
    if len(told) > _SHOWN_TESTS:
        tests.append(f"  and {len(told) - _SHOWN_TESTS} more")
    if not report.gate.passed:
        tests.append("  if this is meant: run the tests again with --replay-update")
    return (*lines[:verdict], *tests, *lines[verdict:])


def update(baseline: Path, fresh: Path, scope: Scope) -> Updated:
    """Make what a run compiled the baseline. Answers that stayed the same stay byte for byte."""
    with open_reader(fresh, allow_empty=True) as new:
        if not len(new):
            raise ReplayError("no kernel was captured, so no baseline is renewed")
        if not baseline.exists():
            return _update_from(None, new, baseline, scope)
        with open_reader(baseline) as old:
            if damaged := [item for item in old if not isinstance(item, Stored)]:
                reason = f"{len(damaged)} records are unreadable; see `replay corpus check`"
                raise ReplayError(f"corpus {baseline}: {reason}")
            return _update_from(old, new, baseline, scope)


def _update_from(old: Reader | None, new: Reader, baseline: Path, scope: Scope) -> Updated:
    before = {item.key: item.record for item in _stored(old)} if old else {}
    came: dict[str, KernelRecord] = {}
    for item in _stored(new):
        known = before.get(item.key)
        if known is None or differing_fields(known, item.record):
            came[item.key] = item.record
    gone = [
        key
        for key, record in before.items()
        if scope.has(record.provenance.test_id)
        and record.provenance.test_id not in scope.skipped
        and new.read(key) is None
    ]
    changed = sum(key in before for key in came)
    done = Updated(len(came) - changed, changed, len(gone), len(before) - changed - len(gone))
    if baseline.is_file() or (old is None and baseline.suffix == ".txt"):
        _write_file(baseline, before, came, gone)
    else:
        _write_directory(baseline, came, gone)
    return done


def _write_directory(baseline: Path, came: dict[str, KernelRecord], gone: list[str]) -> None:
    with open_writer(baseline) as writer, writer.batch():
        for record in came.values():
            writer.replace(record)
        for key in gone:
            writer.remove(key)


def _write_file(
    baseline: Path, before: dict[str, KernelRecord], came: dict[str, KernelRecord], gone: list[str]
) -> None:
    """A file is written anew, whole. Of a text form only the lines of what changed change."""
    is_text = baseline.suffix == ".txt"
    left = {key: record for key, record in before.items() if key not in gone}
    left |= {key: _for_review(record) if is_text else record for key, record in came.items()}
    with scratch_directory("update") as directory:
        whole = directory / "whole"
        with open_writer(whole) as writer, writer.batch():
            for record in left.values():
                writer.replace(record)
        with open_reader(whole, allow_empty=True) as reader:
            export_corpus(reader, baseline, form=Form.TEXT if is_text else Form.BINARY)


def _for_review(record: KernelRecord) -> KernelRecord:
    """Of where it comes from only the test: times and places would be noise in a diff."""
    return msgspec.structs.replace(record, provenance=Provenance(test_id=record.provenance.test_id))


def _placed(result: Result, scope: Scope) -> Result | None:
    """What is missing is so only in scope; None where it is not."""
    if result.outcome is not Outcome.MISSING:
        return result
    if not scope.has(result.test_id):
        return None
    if result.test_id in scope.skipped:
        return msgspec.structs.replace(
            result, outcome=Outcome.SKIPPED, reason="its test was skipped"
        )
    return result


def _is_in(test: str, place: str) -> bool:
    return not place or test == place or test.startswith((f"{place}/", f"{place}::", f"{place}["))


def _test_line(result: Result) -> str:
    test = one_line(result.test_id or "(no test)")
    return f"  {result.outcome.value} {short(result.key)} {one_line(result.name)}  {test}"


def _stored(reader: Reader) -> Iterator[Stored]:
    return (item for item in reader if isinstance(item, Stored))
