"""A report with all that it was made of, to be put together with those of other shards."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from replay.approvals import Ledger
from replay.compare.cluster import with_clusters
from replay.errors import ReplayError
from replay.gate import pass_or_fail, with_approvals, with_growth
from replay.outcome import Result
from replay.policy import Policy
from replay.reports.model import Report
from replay.shard import parse_shard

FORM = 1


class _Part(msgspec.Struct, frozen=True):
    form: int
    report: Report


def render(report: Report) -> str:
    """The report as one line of JSON, without loss."""
    return msgspec.json.encode(_Part(FORM, report)).decode() + "\n"


def read_part(path: Path) -> Report:
    """A report that `render` wrote."""
    try:
        part = msgspec.json.decode(path.read_bytes(), type=_Part)
    except OSError as error:
        raise ReplayError(
            f"part {path}: {error.strerror}; write it by --report part:PATH"
        ) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ReplayError(f"part {path}: {error}; write it by --report part:PATH") from None
    if part.form != FORM:
        raise ReplayError(f"part {path}: form {part.form}, {FORM} is known here")
    return part.report


def merge_parts(parts: Sequence[Report], policy: Policy, ledger: Ledger) -> Report:
    """The report of the whole, judged anew. Every shard of one corpus must be there, once."""
    first = parts[0]
    _refuse_gaps(parts)
    results: dict[str, Result] = {}
    for part in parts:
        for result in part.results:
            if result.key and result.key in results:
                raise ReplayError(f"record {result.key[:12]} is in two parts; replay them anew")
            results[result.key or f"~{len(results)}"] = result
    ordered = tuple(results[key] for key in sorted(results))
    marked, clusters = with_clusters(with_approvals(with_growth(ordered, policy), ledger))
    is_interrupted = any(part.is_interrupted for part in parts)
    lost = max(part.lost for part in parts)
    damage = tuple(dict.fromkeys(line for part in parts for line in part.damage))
    return msgspec.structs.replace(
        first,
        results=marked,
        clusters=clusters,
        gate=pass_or_fail(marked, policy, lost=lost, damage=damage, is_interrupted=is_interrupted),
        compiles=sum(part.compiles for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        is_interrupted=is_interrupted,
        lost=lost,
        damage=damage,
        selected_from=None,
        shard=None,
        corpus_digest=None,
    )


def _refuse_gaps(parts: Sequence[Report]) -> None:
    shards = [parse_shard(part.shard or "") for part in parts]
    total = shards[0].total
    for part, shard in zip(parts, shards, strict=True):
        if _question(part) != _question(parts[0]) or shard.total != total:
            raise ReplayError(
                f"shard {shard}: replays another corpus, or in another way, than {shards[0]}"
            )
    given = sorted(shard.number for shard in shards)
    if given != list(range(1, total + 1)):
        missing = [number for number in range(1, total + 1) if number not in given]
        fact = f"shards {missing} are missing" if missing else "a shard is there twice"
        raise ReplayError(f"parts of {total} shards: {fact}; give each once")


def _question(report: Report) -> tuple[object, ...]:
    return (report.corpus_digest, report.mode, report.baseline, report.options)
