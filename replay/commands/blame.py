"""`replay blame`: the first stage, rule application and opt with which a kernel is wrong."""

from pathlib import Path

import click
import msgspec

from corpus import name_of
from replay.blame import Answer, Applied, Request, Verdict, blame
from replay.capture.environment import without_capture
from replay.commands.common import corpus_option, print_json, with_errors
from replay.invocation import Invocation
from replay.isolation.workers import Limits
from replay.reports.model import quoted, short
from replay.session import compiler_root
from replay.text import one_line, printable


@click.command("blame")
@click.argument("key")
@corpus_option
@click.option(
    "--compiler",
    type=click.Path(path_type=Path, exists=True),
    help="Blame the compiler in this directory.",
)
@click.option("--against", metavar="REV", help="Also say where it parts from this revision.")
@click.option("--time-limit", type=click.FloatRange(min=1), default=300, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@with_errors
def command(
    invocation: Invocation,
    *,
    key: str,
    corpus_path: Path,
    compiler: Path | None,
    against: str | None,
    time_limit: float,
    as_json: bool,
) -> int:
    """Compile the record KEY under the opts it had, and find where its numbers go wrong.

    The reference runs the kernel after every pass; the first wrong stage is then narrowed down to
    one application of a rule, and to an opt. With --against, what is right is compared as well.
    Exit code 3 if nothing is wrong, or different.
    """
    request = Request(
        corpus=corpus_path,
        key=key,
        compiler=compiler_root(compiler) if compiler else None,
        against=against,
        limits=Limits(time_s=time_limit),
    )
    answer = blame(request, without_capture(invocation.environ))
    if as_json:
        print_json(_as_json(answer))
    else:
        for line in _lines(answer, request):
            click.echo(printable(line))
    return 0 if answer.is_answered else 3


def _lines(answer: Answer, request: Request) -> list[str]:
    blamed, record = answer.blamed, answer.record
    target = f"{record.target.backend}/{record.target.profile}"
    lines = [
        f"{short(answer.key)}  {one_line(record.name or '?')} ({target})",
        f"opts   {blamed.opts or 'none'}",
        "stages " + ", ".join([f"{step.name} {step.verdict.value}" for step in blamed.steps]),
    ]
    lines += _difference(answer)
    stage = blamed.stage
    if stage is None:
        return [*lines, *_device(answer)]
    of = "" if request.compiler is None else f"PYTHONPATH={quoted(str(request.compiler))} "
    place = quoted(name_of(request.corpus))
    show = f"  {of}replay show {short(answer.key)} --corpus {place} --stages"
    lines += [f"first wrong stage: {stage.name}", f"  {one_line(stage.reason or '')}", show]
    return [*lines, *_rule(answer, show), _opt(answer)]


def _device(answer: Answer) -> list[str]:
    """What is said where every stage is right."""
    device = answer.device
    if device is None or not answer.is_answered:
        said = "nothing is known of a run" if device is None else device.numerics.value
        reason = one_line(device.reason or "") if device is not None else ""
        return [f"every stage is right; the kernel: {said} {reason}".rstrip()]
    return [
        "every stage is right, what ran is wrong: the renderer or the backend is to blame",
        f"  {one_line(device.reason or '')}",
    ]


def _rule(answer: Answer, show: str) -> list[str]:
    rule = answer.blamed.rule
    if rule is None:
        return ["no rule is to blame: it is wrong with none applied, so the pass itself is"]
    count = answer.blamed.applications
    return [*_applied("rule", rule, count), f"{show} --rewrite-limit {rule.number}"]


def _applied(title: str, rule: Applied, count: int) -> list[str]:
    lines = [f"{title}: {rule.rule}, application {rule.number} of {count}"]
    for sign, text in (("-", rule.before), ("+", rule.after)):
        lines += [f"  {sign} {line}" for line in text.splitlines()[1:]]
    return lines


def _difference(answer: Answer) -> list[str]:
    """Where two compilers part."""
    found = answer.difference
    if found is None:
        return []
    lines = [f"first stage that differs: {found.stage}"]
    if found.ours is None and found.theirs is None:
        return [*lines, "the same rules were applied, so the pass itself differs"]
    for title, applied in (("here", found.ours), ("there", found.theirs)):
        if applied is None:
            lines.append(f"{title}: no further rule is applied")
        else:
            lines += _applied(title, applied, answer.blamed.applications)
    return lines


def _opt(answer: Answer) -> str:
    if answer.blamed.opt is None:
        return "opt: none, it is wrong under no opts"
    return f"opt: {answer.blamed.opt}, under those before it that stage is right"


def _as_json(answer: Answer) -> dict[str, object]:
    blamed = answer.blamed
    stage, rule = blamed.stage, blamed.rule
    return {
        "schema": 1,
        "key": answer.key,
        "name": answer.record.name,
        "opts": blamed.opts,
        "answered": answer.is_answered,
        "stages": {step.name: step.verdict is Verdict.RIGHT for step in blamed.steps},
        "stage": None if stage is None else stage.name,
        "reason": None if stage is None else stage.reason,
        "applications": blamed.applications,
        "rule": None if rule is None else rule.rule,
        "application": None if rule is None else rule.number,
        "before": None if rule is None else rule.before,
        "after": None if rule is None else rule.after,
        "opt": blamed.opt,
        "differs": None if answer.difference is None else msgspec.to_builtins(answer.difference),
        "device": None if answer.device is None else answer.device.numerics.value,
    }
