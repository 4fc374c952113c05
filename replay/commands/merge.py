"""`replay merge`: the reports of all shards of a corpus as one, judged as a whole."""

from pathlib import Path

import click

from replay.approvals import read_ledger
from replay.commands.common import policy_option, with_errors
from replay.commands.reporting import report_option, writers_of
from replay.invocation import Invocation
from replay.policy import read_policy
from replay.reports.part import merge_parts, read_part


@click.command("merge")
@click.argument("parts", nargs=-1, required=True, type=click.Path(path_type=Path))
@policy_option
@report_option
@click.pass_obj
@with_errors
def command(
    invocation: Invocation, parts: tuple[Path, ...], policy: Path, reports: tuple[str, ...]
) -> int:
    """Put the PARTS that `run --shard I/N --report part:PATH` wrote together, and judge the whole.

    Every shard must be there, once, and of the same corpus. Exit codes are those of `run`.
    """
    write = writers_of(reports)
    rules = read_policy(policy)
    ledger = read_ledger(policy.parent / rules.approvals, invocation.today)
    return write(merge_parts([read_part(path) for path in parts], rules, ledger), invocation)
