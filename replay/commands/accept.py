"""`replay accept`: approve differences in the ledger, or make them the new baseline."""

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime

import click

from corpus import KernelRecord, Stored, open_reader, refuse_store
from replay.approvals import Approval, add_approvals
from replay.baseline import update_corpus, with_answer, with_numerics
from replay.commands.common import corpus_option, selection_options, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.commands.reviewing import can_be_accepted, review
from replay.compare.diff import digest_of
from replay.errors import UsageError
from replay.gate import is_allowed, never_approved
from replay.invocation import Invocation
from replay.outcome import CHANGED, Numerics, Outcome, Result
from replay.phases.plan import Extent
from replay.policy import read_policy
from replay.reports.model import Report
from replay.session import Request, replay_corpus
from replay.text import one_line


@click.command("accept")
@click.argument("keys", nargs=-1)
@corpus_option
@selection_options
@replaying_options
@click.option("--cluster", "clusters", multiple=True, type=int, metavar="N", help="Only these.")
@click.option("--review", "is_review", is_flag=True, help="Show each cluster, and ask.")
@click.option("--reason", help="Why the difference is right.")
@click.option("--who", help="Who says so; default: the user.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="The last day it is approved.")
@click.option("--update", is_flag=True, help="Make it the baseline, in the corpus itself.")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    request: Request,
    clusters: tuple[int, ...],
    reason: str | None,
    who: str | None,
    until: datetime | None,
    *,
    is_review: bool,
    update: bool,
) -> int:
    """Replay, and accept the differences found: all, those of KEYS, or of some clusters.

    Without --update they are written to the approvals ledger, with a reason, for a while or for
    good. With it the corpus gets the new answers. --review shows one cluster after the other and
    asks. Exit code 1 if any was not accepted; wrong numbers and compiles without an answer never
    are. So what changed is always run; --verify none is refused.
    """
    _check(invocation, reason, until, is_review=is_review, is_update=update)
    _check_that_it_runs(request)
    if update:
        refuse_store(request.corpus)
    with showing_progress() as progress:
        report = replay_corpus(request, invocation, progress)
    if report.is_interrupted:
        click.echo("interrupted: nothing is accepted")
        return 130
    code = 0
    if is_review:
        _known(report, clusters)
        reviewed = review(report, clusters, "" if update else reason)
        click.echo(reviewed.sentence)
        reasons, code = reviewed.accepted, int(bool(reviewed.rejected or reviewed.left))
        results = [each for each in report.results if each.cluster in reasons]
    else:
        results = _chosen(report, clusters)
        reasons = {cluster.number: one_line(reason or "") for cluster in report.clusters}
    refused = [result for result in results if _is_refused(result, is_update=update)]
    results = [result for result in results if can_be_accepted(result)]
    _say_what_did_not_run(results)
    if update:
        _update(request, results)
    else:
        signed = who or invocation.environ.get("USER") or "unknown"
        _approve(request, results, reasons, one_line(signed), until.date() if until else None)
    return _refusing(refused) or code


def _is_refused(result: Result, *, is_update: bool) -> bool:
    """A refusal of the compiler is an answer, which a baseline may hold; nothing approves it."""
    return never_approved(result) and not (is_update and result.outcome is Outcome.ERROR)


def _refusing(refused: list[Result]) -> int:
    """Say what nobody may accept. Returns the exit code that it asks for."""
    kinds = Counter(result.kind for result in refused)
    if kinds:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        click.echo(f"never accepted: {listed}")
    return int(bool(kinds))


def _say_what_did_not_run(results: list[Result]) -> None:
    """Kernels of a device that is not here are accepted by their text: say so."""
    unseen = [each for each in results if each.outcome in CHANGED]
    reasons = Counter(each.numerics_reason for each in unseen if each.numerics is Numerics.SKIPPED)
    for reason, count in reasons.items():
        kernels = "1 kernel that was" if count == 1 else f"{count} kernels that were"
        click.echo(f"accepting {kernels} not run: {one_line(reason or 'no reason is known')}")


def _check(
    invocation: Invocation,
    reason: str | None,
    until: datetime | None,
    *,
    is_review: bool,
    is_update: bool,
) -> None:
    """Refuse what cannot be meant before any work is done."""
    if is_review and not invocation.is_terminal:
        raise UsageError("accept: --review asks questions; run it on a terminal")
    if not is_update and not is_review and not (reason or "").strip():
        raise UsageError("accept: a reason is missing; give --reason, or --update the baseline")
    if is_update and until is not None:
        raise UsageError("accept: a baseline does not run out; leave out --until or --update")
    if until is not None and until.date() < invocation.today:
        raise UsageError(f"accept: --until {until.date()} is over; give today or a later day")


def _check_that_it_runs(request: Request) -> None:
    """What is accepted passes from then on, so its numbers are looked at now."""
    remedy = "so numbers would be accepted that nobody has seen; leave it out"
    if request.verify is Extent.NONE:
        raise UsageError(f"accept: --verify none runs no kernel, {remedy}")
    if request.fresh is not None:
        raise UsageError(f"accept: --fresh runs no kernel, {remedy}")


def _known(report: Report, clusters: tuple[int, ...]) -> None:
    known = {cluster.number for cluster in report.clusters}
    for number in clusters:
        if number not in known:
            raise UsageError(f"accept: cluster {number} does not exist; there are {len(known)}")


def _chosen(report: Report, clusters: tuple[int, ...]) -> list[Result]:
    _known(report, clusters)
    for cluster in report.clusters:
        if not clusters or cluster.number in clusters:
            click.echo(f"#{cluster.number} {cluster.count} x {one_line(cluster.title)}")
    return [result for result in report.results if not clusters or result.cluster in clusters]


def _approve(
    request: Request,
    results: list[Result],
    reasons: Mapping[int, str],
    who: str,
    until: date | None,
) -> None:
    policy = read_policy(request.policy)
    path = request.policy.parent / policy.approvals
    approvals = [
        Approval(digest_of(result.old), digest_of(result.new), until, who, reasons[result.cluster])
        for result in results
        if result.outcome in CHANGED and not is_allowed(result, policy)
        if result.old is not None and result.new is not None and result.cluster is not None
    ]
    if not approvals:
        click.echo("nothing to approve")
        return
    click.echo(f"{add_approvals(path, approvals)} new approvals in {path}")


def _update(request: Request, results: list[Result]) -> None:
    new: dict[str, KernelRecord] = {}
    run: dict[str, KernelRecord] = {}
    with open_reader(request.corpus) as reader:
        for result in results:
            if result.outcome is Outcome.SAME and result.digest is None:
                continue
            item = reader.read(result.key)
            if not isinstance(item, Stored):
                continue
            if result.outcome is Outcome.SAME:
                if (judged := with_numerics(item.record, result)) != item.record:
                    run[result.key] = judged
            elif record := with_answer(item.record, result):
                new[result.key] = record
    if new or run:
        update_corpus(request.corpus, new | run)
    more = f", numerics of {len(run)} more" if run else ""
    click.echo(f"{len(new)} new baselines in {request.corpus}{more}")
