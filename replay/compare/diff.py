"""What differs between two artefacts: facets, lines, and edits that kernels can have in common."""

from __future__ import annotations  # rapidfuzz is imported where it is needed: it takes 25 ms

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from corpus import ArgumentKind, KernelRecord, Opt
from replay.artefact import Artefact
from replay.capture.records import STAGE_MARK
from replay.compare import c_edits
from replay.outcome import Facet, Outcome

if TYPE_CHECKING:
    from rapidfuzz.distance import Opcode

DIGEST_LENGTH = 16
SPACING = "spacing"  # the edit of sources that differ in blanks alone
_CONTEXT_LINES = 3
_MANY_EDITS = 8
_TOKEN = re.compile(r"\s+|[%@]?[A-Za-z_$.][\w$.]*|%\d+|0x[\da-fA-F]+|\d[\w.]*|.")
_NUMBER = re.compile(r"\d|0x")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of one place that were replaced by others; starts count from 0."""

    old_start: int
    old: tuple[str, ...]
    new_start: int
    new: tuple[str, ...]


def artefact_of(record: KernelRecord) -> Artefact | None:
    """What the record says its compiler answered; None where it never did."""
    if record.source is None:
        return None
    return Artefact(
        name=record.name or "?",
        source=record.source,
        applied=record.applied or (),
        launch=record.launch,
        arguments=record.arguments,
        estimates=record.estimates,
        stages=record.stages,
        rewrites=record.rewrites,
    )


def digest_of(artefact: Artefact) -> str:
    """Name all of an artefact that is compared, as approvals do."""
    compared = [_part(artefact, facet) for facet in _COMPARED]
    body = msgspec.msgpack.encode(compared, order="deterministic")
    return sha256(body).hexdigest()[:DIGEST_LENGTH]


def facets_of(old: Artefact, new: Artefact) -> tuple[Facet, ...]:
    """The parts in which two artefacts differ. The work of a compile is a metric, not a part."""
    return tuple(facet for facet in Facet if _part(old, facet) != _part(new, facet))


def judge(old: Artefact, new: Artefact, backend: str) -> tuple[Outcome, tuple[Facet, ...]]:
    """Same, renamed or changed. Names may differ in a renamed kernel, and nothing else."""
    facets = facets_of(old, new)
    if not facets:
        return Outcome.SAME, ()
    if not set(facets) <= {Facet.SOURCE, Facet.NAME, Facet.ARGUMENTS}:
        return Outcome.CODE, facets
    from replay.compare.normalize import is_renamed  # noqa: PLC0415  # most replays find nothing changed

    is_same_but_names = (
        _unnamed(old) == _unnamed(new)
        and _means_the_same(old, new)
        and is_renamed(old.source, new.source, backend)
    )
    return Outcome.RENAMED if is_same_but_names else Outcome.CODE, facets


def first_stage_that_differs(old: Artefact, new: Artefact) -> str | None:
    """The pass after which two compiles parted; None where that cannot be told.

    A pass that the old pipeline did not have is looked over: what it did shows after the next.
    """
    before, after = dict(old.stages), dict(stages_like(old, new))
    shared = list(before)
    if not shared or shared != [name for name in after if name in before]:
        return None  # another pipeline
    for name in shared:
        if before[name] != after[name]:
            return name
    is_last = shared[-1] == old.stages[-1][0] == new.stages[-1][0]
    return "render" if is_last and old.source != new.source else None


def stages_like(old: Artefact, new: Artefact) -> tuple[tuple[str, str], ...]:
    """The digests of `new` of the kind that `old` has: of structures, or, once, of texts."""
    if _are_marked(old) == _are_marked(new):
        return new.stages
    return tuple((name, sha256(text.encode()).hexdigest()[:16]) for name, text in new.texts)


def _are_marked(artefact: Artefact) -> bool:
    return all(digest.startswith(STAGE_MARK) for _, digest in artefact.stages)


def hunks(old: str, new: str) -> tuple[Hunk, ...]:
    """The places where two texts differ, line by line."""
    before, after = old.splitlines(), new.splitlines()
    found: list[Hunk] = []
    for code in _opcodes(before, after):
        if code.tag == "equal":
            continue
        old_lines = tuple(before[code.src_start : code.src_end])
        new_lines = tuple(after[code.dest_start : code.dest_end])
        last = found[-1] if found else None
        if last and last.old_start + len(last.old) == code.src_start:
            found[-1] = Hunk(
                last.old_start, last.old + old_lines, last.new_start, last.new + new_lines
            )
        else:
            found.append(Hunk(code.src_start, old_lines, code.dest_start, new_lines))
    return tuple(found)


def unified(old: str, new: str, *, max_lines: int | None = None) -> str:
    """Two texts as one, with `-` and `+` lines and some context; cut after `max_lines`."""
    before = old.splitlines()
    lines: list[str] = []
    shown = 0
    places = hunks(old, new)
    next_starts = [*(hunk.old_start for hunk in places[1:]), len(before)]
    for hunk, next_start in zip(places, next_starts, strict=False):
        start = max(shown, hunk.old_start - _CONTEXT_LINES)
        end = hunk.old_start + len(hunk.old)
        if start > shown or not lines:
            lines.append(f"@@ line {start + 1} @@")
        lines += [f"  {line}" for line in before[start : hunk.old_start]]
        lines += [f"- {line}" for line in hunk.old] + [f"+ {line}" for line in hunk.new]
        shown = min(next_start, end + _CONTEXT_LINES)
        lines += [f"  {line}" for line in before[end:shown]]
    if max_lines is not None and len(lines) > max_lines:
        lines[max_lines:] = [f"... {len(lines) - max_lines} lines more"]
    return "\n".join(lines)


def edits(old: str, new: str) -> tuple[str, ...]:
    """What was done to a source, without names and numbers, so that kernels can share it."""
    if old != new and _words(old) == _words(new):
        return (SPACING,)
    telling: dict[str, None] = {}
    others: dict[str, None] = {}
    for edit in _edits_of_lines(hunks(old, new)):
        kind = others if edit.endswith("name -> name") else telling
        kind[edit] = None
        if len(telling) > _MANY_EDITS:
            break
    chosen = sorted(telling or others)
    return tuple(chosen) if len(chosen) <= _MANY_EDITS else _balance(old, new)


def opt_edits(old: Sequence[Opt], new: Sequence[Opt]) -> tuple[str, ...]:
    """How the choice of opts differs: which kinds came, went or got other amounts."""
    before, after = Counter(opt.name for opt in old), Counter(opt.name for opt in new)
    gone = [f"- {name}" for name in sorted(before - after)]
    came = [f"+ {name}" for name in sorted(after - before)]
    kept = sorted(before.keys() & after.keys())
    other = [f"{name} amounts" for name in kept if _amounts(old, name) != _amounts(new, name)]
    return (*gone, *came, *other)


def show_opt(opt: Opt) -> str:
    """An opt in one word and its values, as it is written by hand."""
    by_place = sorted(opt.fields.items(), key=lambda item: (item[0] != "axis", item[0]))
    return " ".join([opt.name, *(str(value) for _, value in by_place)])


def show_opts(opts: Sequence[Opt]) -> str:
    """A sequence of opts on one line."""
    return "; ".join(show_opt(opt) for opt in opts) or "none"


_COMPARED = (Facet.SOURCE, Facet.OPTS, Facet.LAUNCH, Facet.ARGUMENTS, Facet.ESTIMATES)


def _part(artefact: Artefact, facet: Facet) -> object:
    return artefact.applied if facet is Facet.OPTS else getattr(artefact, facet.value)


def _unnamed(artefact: Artefact) -> object:
    return [(argument.kind, argument.dtype, argument.size) for argument in artefact.arguments]


def _means_the_same(old: Artefact, new: Artefact) -> bool:
    """Whether what names stand for outside of the sources is as it was.

    Launches find a kernel by its name, and by an argument's name what is passed in its place.
    """
    is_found = new.name in new.source or old.name not in old.source
    taken = {argument.name for argument in old.arguments}
    return is_found and all(
        after.name == before.name
        or (after.kind is not ArgumentKind.VAR and after.name not in taken)
        for before, after in zip(old.arguments, new.arguments, strict=True)
    )


def _amounts(opts: Sequence[Opt], name: str) -> list[str]:
    return [show_opt(opt) for opt in opts if opt.name == name]


def _edits_of_lines(places: Iterable[Hunk]) -> Iterator[str]:
    """What was done to each line: lines are compared with lines that do the same."""
    for hunk in places:
        before, after = [[_opcode(line) for line in lines] for lines in (hunk.old, hunk.new)]
        for code in _opcodes(before, after):
            old = hunk.old[code.src_start : code.src_end]
            new = hunk.new[code.dest_start : code.dest_end]
            for gone, came in zip(old, new, strict=False):
                yield from _exchanged(gone, came)
            yield from (f"{_what(line)} removed" for line in old[len(new) :])
            yield from (f"{_what(line)} added" for line in new[len(old) :])


def _what(line: str) -> str:
    return c_edits.statement(line) if c_edits.is_c(line) else _opcode(line)


def _exchanged(gone: str, came: str) -> tuple[str, ...]:
    """One line for another. Operands of two instructions that do other things are no change."""
    if c_edits.is_c(gone) and c_edits.is_c(came):
        edit = c_edits.exchanged(gone, came)
        return _line_edits(gone, came) if edit is None else (edit,)
    before, after = _opcode(gone), _opcode(came)
    if before != after and "%" in gone and "%" in came:
        return (f"{before} -> {after}",)
    return _line_edits(gone, came)


# Kernels of one corpus share many lines, and more pieces of lines.


@lru_cache(maxsize=1 << 14)
def _line_edits(old: str, new: str) -> tuple[str, ...]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    found: list[str] = []
    for code in _opcodes(before, after):
        if code.tag == "equal":
            continue
        gone = "".join(before[code.src_start : code.src_end])
        came = "".join(after[code.dest_start : code.dest_end])
        if not (gone + came).strip():
            found.append(SPACING)
        else:
            found.append(f"{_opcode(new)}: {_abstract(gone)} -> {_abstract(came)}")
    return tuple(found)


def _opcodes(before: Sequence[str], after: Sequence[str]) -> Iterator[Opcode]:
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415  # likewise

    yield from Levenshtein.opcodes(before, after)


def _words(text: str) -> list[str]:
    """All but the blanks."""
    return [token for token in _TOKEN.findall(text) if not token.isspace()]


@lru_cache(maxsize=1 << 12)
def _abstract(text: str) -> str:
    return "".join(_token_kind(token) for token in _TOKEN.findall(text)) or "nothing"


def _token_kind(token: str) -> str:
    if token.startswith("%") and len(token) > 1:
        return "name"
    if _NUMBER.match(token):
        return "#"
    if re.fullmatch(r"[a-z_]+\d+", token) and token not in _TYPES:
        return "name"  # the names that renderers make up: val0, acc3
    return " " if token.isspace() else token


_TYPES = frozenset(
    f"{kind}{size}"
    for kind, sizes in {
        "i": (1, 8, 16, 32, 64),
        "float": (2, 4, 8, 16),
        "int": (2, 4, 8, 16),
        "long": (2, 4, 8, 16),
        "double": (2, 4, 8, 16),
    }.items()
    for size in sizes
)


@lru_cache(maxsize=1 << 14)
def _opcode(line: str) -> str:
    """The word that says what a line does."""
    right = line.partition(" = ")[2] or line
    if "%" not in line and "=" in line:  # C: the operators and functions of the right side
        words = list(re.findall(r"[A-Za-z_]\w*(?=\()|[-+*/%<>&|^?]", right))
        return " ".join(sorted(set(words))) or "="
    word = _WORD.search(right)
    return word[0] if word else line.strip()[:12] or "empty line"


def _balance(old: str, new: str) -> tuple[str, ...]:
    """Which kinds of lines became more or fewer: for changes too large to list."""
    before = Counter(_opcode(line) for line in old.splitlines() if line.strip())
    after = Counter(_opcode(line) for line in new.splitlines() if line.strip())
    more = [f"more {word}" for word in sorted(after - before)]
    fewer = [f"fewer {word}" for word in sorted(before - after)]
    return (*more, *fewer) or ("rewritten",)
