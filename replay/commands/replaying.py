"""The options that say how to replay, packed into one Request."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from replay.commands.common import policy_option, selection_of, with_errors
from replay.isolation.workers import Limits, cores
from replay.phases.plan import Extent
from replay.recompile import Mode
from replay.session import Request
from replay.shard import WHOLE, parse_shard

R = TypeVar("R")

_MIB = 1 << 20
_EXTENTS = [extent.value for extent in Extent]
_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--compiler", type=click.Path(path_type=Path), help="Another copy of it."),
    click.option("--subject", metavar="FILE.py:OBJECT", help="A compiler of another kind."),
    click.option("--against", metavar="REV", help="Compile the baseline with this revision."),
    click.option("--fresh", type=click.Path(path_type=Path), help="Compare with a second capture."),
    click.option("--mode", type=click.Choice([mode.value for mode in Mode]), default="pinned"),
    click.option("--verify", type=click.Choice(_EXTENTS), default="changed"),
    click.option("--across", is_flag=True, help="Run verified kernels on all backends, too."),
    click.option("--check", type=click.Choice(["memory"]), help="Run OpenCL inside Oclgrind."),
    click.option("--time", is_flag=True, help="Time changed kernels beside their old ones."),
    click.option("--determinism", type=click.Choice(_EXTENTS), default="changed"),
    click.option("--jobs", type=click.IntRange(1, 512), help="Workers; default: the cores."),
    click.option("--record-timeout", type=click.FloatRange(min=0.1), default=60.0, metavar="S"),
    click.option("--compile-timeout", type=click.FloatRange(min=0.1), default=20.0, metavar="S"),
    click.option("--record-memory", type=click.IntRange(64), default=4096, metavar="MIB"),
    click.option("--compile-memory", type=click.IntRange(64), default=2048, metavar="MIB"),
    click.option("--no-skip", is_flag=True, help="Compile what unchanged code has made before."),
    click.option("--resume", is_flag=True, help="Go on where a replay was interrupted."),
    click.option("--shard", metavar="I/N", help="The I-th of N parts; see `replay merge`."),
    click.option("--executor", metavar="URL", help="A Dask cluster, as tcp://HOST:8786."),
    click.option("--max-changes", type=click.IntRange(min=1), metavar="N", help="Then stop."),
    click.option("--time-budget", type=click.FloatRange(min=0), metavar="S", help="Then stop."),
    policy_option,
)


def replaying_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options of a replay; the function gets them all as `request`."""

    @functools.wraps(function)
    def wrapped(*arguments: object, **options: Any) -> R:  # noqa: ANN401  # click passes each by name
        known = {name: options.pop(name, default) for name, default in _DEFAULTS.items()}
        return function(*arguments, request=with_errors(_request)(**known), **options)

    decorated: Callable[..., R] = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


# Options of `_request`, with what they are where a command does not have them.
_DEFAULTS: Mapping[str, object] = {
    "corpus_path": None,
    "keys": (),
    "only": (),
    "target": None,
    "test": None,
    "limit": None,
    "compiler": None,
    "subject": None,
    "against": None,
    "fresh": None,
    "mode": "pinned",
    "verify": "changed",
    "across": False,
    "check": None,
    "time": False,
    "determinism": "changed",
    "jobs": None,
    "record_timeout": 60.0,
    "compile_timeout": 20.0,
    "record_memory": 4096,
    "compile_memory": 2048,
    "no_skip": False,
    "resume": False,
    "shard": None,
    "executor": None,
    "max_changes": None,
    "time_budget": None,
    "policy": Path("pyproject.toml"),
}


def _request(
    *,
    corpus_path: Path,
    keys: tuple[str, ...],
    only: tuple[str, ...],
    target: str | None,
    test: str | None,
    limit: int | None,
    compiler: Path | None,
    subject: str | None,
    against: str | None,
    fresh: Path | None,
    mode: str,
    verify: str,
    across: bool,
    check: str | None,
    time: bool,
    determinism: str,
    jobs: int | None,
    record_timeout: float,
    compile_timeout: float,
    record_memory: int,
    compile_memory: int,
    no_skip: bool,
    resume: bool,
    shard: str | None,
    executor: str | None,
    max_changes: int | None,
    time_budget: float | None,
    policy: Path,
) -> Request:
    if time and fresh is not None:
        why = "a second capture runs nothing here; leave out --fresh or --time"
        raise click.UsageError(f"--time: {why}")
    return Request(
        corpus=corpus_path,
        selection=selection_of(keys, only, target, test, limit),
        compiler=compiler,
        subject=subject,
        against=against,
        fresh=fresh,
        mode=Mode(mode),
        verify=Extent(verify),
        across=across,
        checks_memory=check is not None,
        times=time,
        determinism=Extent(determinism),
        jobs=jobs or cores(),
        limits=Limits(record_timeout, record_memory * _MIB, compile_timeout, compile_memory * _MIB),
        max_changes=max_changes,
        time_budget_s=time_budget,
        policy=policy,
        skip_known=not no_skip,
        resume=resume,
        shard=WHOLE if shard is None else parse_shard(shard),
        executor=executor,
    )
