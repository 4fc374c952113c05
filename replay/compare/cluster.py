"""Kernels that changed in the same way, put together: "412 kernels changed in 3 ways"."""

import re
from collections.abc import Sequence
from itertools import chain, pairwise

import msgspec

from replay.artefact import Artefact
from replay.compare.diff import SPACING, edits, opt_edits
from replay.outcome import CHANGED, NO_ANSWER, Facet, Outcome, Result

_SHOWN_EDITS = 4
_PLAIN_NAME = re.compile(r"[\w$.]+")
_WORD = re.compile(r"[\w$.]")
_WORD_AT_END = re.compile(r"[\w$.]\Z")


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which kernels changed. `example` is the key with the smallest difference."""

    number: int
    title: str
    outcome: Outcome
    count: int
    example: str
    keys: tuple[str, ...]


def with_clusters(results: Sequence[Result]) -> tuple[tuple[Result, ...], tuple[Cluster, ...]]:
    """Number the ways in which results changed, the most frequent first, and mark each result."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        signature = None if result.outcome is Outcome.SAME else _signature(result)
        if signature is not None:
            groups.setdefault(signature, []).append(result)
    order = sorted(groups, key=lambda signature: (-len(groups[signature]), signature))
    clusters = tuple(
        _cluster(number, signature, groups[signature]) for number, signature in enumerate(order, 1)
    )
    if not groups:
        return tuple(results), ()
    numbers = {key: cluster.number for cluster in clusters for key in cluster.keys}
    marked = [
        msgspec.structs.replace(result, cluster=numbers[result.key])
        if result.key in numbers
        else result
        for result in results
    ]
    return tuple(marked), clusters


def _cluster(number: int, signature: tuple[str, ...], members: list[Result]) -> Cluster:
    example = min(members, key=_size)
    return Cluster(
        number=number,
        title=_title(signature),
        outcome=example.outcome,
        count=len(members),
        example=example.key,
        keys=tuple(result.key for result in members),
    )


def _size(result: Result) -> tuple[int, str]:
    artefact = result.new or result.old
    return (len(artefact.source) if artefact else 0, result.key)


def _signature(result: Result) -> tuple[str, ...] | None:
    """What members of one cluster have in common: kind, backend, place, and then each change."""
    if result.outcome in NO_ANSWER:
        reason = _without_numbers(result.reason or "")
        return (result.outcome.value, _backend(result), "with", reason)
    if result.outcome not in (*CHANGED, Outcome.NONDETERMINISTIC):
        return None
    assert result.old is not None
    assert result.new is not None
    changes = _changes(result)
    # Blanks are the renderer's, whatever stages were otherwise when the record was made.
    stage = "render" if changes == [SPACING] and result.stage else result.stage
    where = f"from {stage}:" if stage else "in"
    return (result.outcome.value, _backend(result), where, *changes)


def _changes(result: Result) -> list[str]:
    assert result.old is not None
    assert result.new is not None
    hidden = (Facet.SOURCE, Facet.NAME, Facet.OPTS)
    parts = [facet.value for facet in result.facets if facet not in hidden]
    if Facet.OPTS in result.facets:
        return [*parts, *opt_edits(result.old.applied, result.new.applied)]
    if result.outcome is Outcome.RENAMED:
        return [*parts, "names or order"]
    found = edits(_without_its_name(result.old), _without_its_name(result.new))
    return [*parts, *found] or ["names"]


def _without_its_name(artefact: Artefact) -> str:
    """A source in which the kernel has the name that all have: theirs are no part of a change."""
    return under_one_name(artefact.source, artefact.name) if artefact.name else artefact.source


def under_one_name(source: str, name: str) -> str:
    """`source` with `kernel` wherever `name` stands as a whole word."""
    if not _PLAIN_NAME.fullmatch(name):
        return re.sub(rf"(?<![\w$.]){re.escape(name)}(?![\w$.])", "kernel", source)
    # The same without making a pattern for each kernel. An occurrence that begins inside of another
    # has a letter before it, and so is no whole word.
    first, *others = source.split(name)
    if not others:
        return source
    sides = [first, *(between or name for between in others[:-1]), others[-1]]
    words = [
        name if _WORD_AT_END.search(before) or _WORD.match(after) else "kernel"
        for before, after in pairwise(sides)
    ]
    return first + "".join(chain.from_iterable(zip(words, others, strict=True)))


def _title(signature: tuple[str, ...]) -> str:
    *start, where = signature[:3]
    changes = signature[3:]
    more = len(changes) - _SHOWN_EDITS
    shown = ", ".join(changes[:_SHOWN_EDITS]) + (f" and {more} more" if more > 0 else "")
    return " ".join([*start, where, shown])


def _backend(result: Result) -> str:
    return result.target.partition("/")[0]


def _without_numbers(text: str) -> str:
    """A reason without what differs from kernel to kernel."""
    return re.sub(r"\d+", "#", text)[:120]
