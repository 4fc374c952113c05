"""`[tool.replay]` of pyproject.toml: what passes the gate, and how much must be replayed."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from replay.errors import PolicyError
from replay.outcome import FAILED_RUNS, Numerics, Outcome

TABLE = "tool.replay"
_SHARE = re.compile(r"(?:[1-9][0-9]?|100)%", re.ASCII)


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the gate allows. Without a policy, only what is the same, renamed or approved passes.

    `allow` names outcomes, or pairs as in "code/exact". `numerics` names verdicts that pass beside
    an outcome that does. `minimum` is how many records must have been compiled: a count, a share
    such as "95%", or "all". `subject` is a compiler of another kind: module:object, or
    file.py:object in or below the directory of the policy. A changed kernel may run at most
    `iterations_factor` times as many loop iterations as before, and load at most `loads_factor`
    times as many elements for each one it writes; `inf` is no limit.
    """

    allow: tuple[str, ...] = (Outcome.SAME.value, Outcome.RENAMED.value)
    numerics: tuple[Numerics, ...] = (Numerics.EXACT, Numerics.BOUNDED, Numerics.SKIPPED)
    minimum: int | str = "all"
    approvals: str = "replay-approvals.txt"
    allow_incomplete: bool = False
    subject: str | None = None
    iterations_factor: float = 2.0
    loads_factor: float = 2.0


DEFAULT = Policy()


def read_policy(path: Path) -> Policy:
    """The policy of a pyproject.toml; the default where the file or its table is missing."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return DEFAULT
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"policy {path}: {error}; correct the file") from None
    tool = document.get("tool", {})
    if not isinstance(tool, dict):
        raise PolicyError(f"policy {path}: tool: is no table; correct the file")
    return parse_policy(tool.get("replay", {}), str(path))


def parse_policy(table: Mapping[str, object], where: str) -> Policy:
    """A policy from a table. PolicyError names the file and the path of what is wrong in it."""
    try:
        policy = msgspec.convert(table, Policy)
    except msgspec.ValidationError as error:
        fact, _, path = str(error).partition(" - at `$")
        place = TABLE + path.rstrip("`")
        raise PolicyError(f"policy {where}: {place}: {fact}") from None
    for number, name in enumerate(policy.allow):
        if (why := _why_unknown(name)) is not None:
            raise PolicyError(f"policy {where}: {TABLE}.allow[{number}]: {why}")
    for number, verdict in enumerate(policy.numerics):
        if verdict in FAILED_RUNS:
            raise PolicyError(
                f"policy {where}: {TABLE}.numerics[{number}]: {_never(verdict.value, verdict)}"
            )
    for name, factor in (
        ("iterations_factor", policy.iterations_factor),
        ("loads_factor", policy.loads_factor),
    ):
        if not factor >= 1:  # nan is no number of times either
            raise PolicyError(
                f"policy {where}: {TABLE}.{name}: is {factor:g}; use 1 or more, inf for no limit"
            )
    minimum_of(policy, total=0, where=where)
    return policy


def minimum_of(policy: Policy, *, total: int, where: str = "pyproject.toml") -> int:
    """How many of `total` records must have been compiled."""
    match policy.minimum:
        case int(count) if count > 0:
            return count
        case "all":
            return max(1, total)
        case str(share) if _SHARE.fullmatch(share):
            return max(1, -(-total * int(share[:-1]) // 100))
    raise PolicyError(
        f"policy {where}: {TABLE}.minimum: is {policy.minimum!r}; "
        'use "all", a share such as "95%", or a count above 0'
    )


def _why_unknown(name: str) -> str | None:
    outcome, slash, numerics = name.partition("/")
    outcomes = [member.value for member in Outcome]
    verdicts = [member.value for member in Numerics]
    if outcome == Outcome.UNREADABLE.value:
        return f"{name!r} cannot be allowed: nobody knows what it was; repair or prune the corpus"
    if outcome not in outcomes:
        return f"{name!r} is no outcome; use one of {', '.join(outcomes)}"
    if slash and numerics not in verdicts:
        return f"{name!r} is no numeric verdict; use one of {', '.join(verdicts)}"
    if slash and (verdict := Numerics(numerics)) in FAILED_RUNS:
        return _never(name, verdict)
    return None


def _never(name: str, verdict: Numerics) -> str:
    """Why no policy lets such numbers pass."""
    is_wrong = verdict is Numerics.WRONG
    fact = "its numbers are wrong" if is_wrong else "nobody knows its numbers"
    return f"{name!r} cannot be allowed: {fact}; correct the kernel, or prune its record"
