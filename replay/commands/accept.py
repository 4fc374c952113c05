"""`replay accept`: approve differences in the ledger, or make them the new baseline."""

from datetime import date, datetime

import click

from corpus import KernelRecord, Stored, open_reader
from replay.approvals import Approval, add_approvals
from replay.baseline import update_corpus, with_answer
from replay.commands.common import corpus_option, selection_options, showing_progress, with_errors
from replay.commands.replaying import replaying_options
from replay.diff import digest_of
from replay.errors import UsageError
from replay.gate import is_allowed
from replay.invocation import Invocation
from replay.outcome import CHANGED, Numerics, Outcome, Result
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
    update: bool,
) -> int:
    """Replay, and accept the differences found: all, those of KEYS, or of some clusters.

    Without --update they are written to the approvals ledger, with a reason, for a while or for
    good. With it the corpus gets the new answers. Wrong numbers are never accepted.
    """
    if not update and not reason:
        raise UsageError("accept: a reason is missing; give --reason, or --update the baseline")
    with showing_progress() as progress:
        report = replay_corpus(request, invocation, progress)
    chosen = _chosen(report, clusters)
    if update:
        return _update(request, chosen)
    assert reason is not None
    person = who or invocation.environ.get("USER") or "unknown"
    return _approve(request, chosen, one_line(reason), person, until.date() if until else None)


def _chosen(report: Report, clusters: tuple[int, ...]) -> list[Result]:
    known = {cluster.number for cluster in report.clusters}
    for number in clusters:
        if number not in known:
            raise UsageError(f"accept: cluster {number} does not exist; there are {len(known)}")
    for cluster in report.clusters:
        if not clusters or cluster.number in clusters:
            click.echo(f"#{cluster.number} {cluster.count} x {one_line(cluster.title)}")
    return [
        result
        for result in report.results
        if (not clusters or result.cluster in clusters) and result.numerics is not Numerics.WRONG
    ]


def _approve(
    request: Request, results: list[Result], reason: str, who: str, until: date | None
) -> int:
    policy = read_policy(request.policy)
    path = request.policy.parent / policy.approvals
    approvals = [
        Approval(digest_of(result.old), digest_of(result.new), until, one_line(who), reason)
        for result in results
        if result.outcome in CHANGED and not is_allowed(result, policy)
        if result.old is not None and result.new is not None
    ]
    if not approvals:
        click.echo("nothing to approve")
        return 0
    click.echo(f"{add_approvals(path, approvals)} new approvals in {path}")
    return 0


def _update(request: Request, results: list[Result]) -> int:
    new: dict[str, KernelRecord] = {}
    with open_reader(request.corpus) as reader:
        for result in results:
            if result.outcome is Outcome.SAME:
                continue
            item = reader.read(result.key)
            if isinstance(item, Stored) and (record := with_answer(item.record, result)):
                new[result.key] = record
    if new:
        update_corpus(request.corpus, new)
    click.echo(f"{len(new)} new baselines in {request.corpus}")
    return 0
