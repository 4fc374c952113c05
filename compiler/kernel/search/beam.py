"""Beam search: keep the cheapest schedules of each round, and try every legal step from them.

How a schedule is lowered and what it costs are arguments, so the search knows no backend and no
clock. With a judge that depends on nothing but the schedules, so does what is found.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from compiler.errors import CompilerError
from compiler.kernel.kernel import Kernel, Opt
from compiler.kernel.search.candidates import candidates, starts
from compiler.kernel.spelling import format_opts
from compiler.options import CompileOptions
from compiler.target import Target

P = TypeVar("P")
_PROGRESS = 0.99  # a round that does not get the best below this share of it is the last


@dataclass(frozen=True, slots=True)
class Lowered(Generic[P]):
    """A schedule as a program. `text` is its source without its name, which tells duplicates."""

    program: P
    text: str
    cycles: float  # by the model; what a judge need not look at is sorted out by it


class Judge(Protocol[P]):
    """Gives schedules their costs, all in one unit; a reason for one that does not run."""

    @property
    def margin(self) -> float:
        """The share of the heuristics' cost that another choice has to stay below."""

    def select(self, lowered: Sequence[Lowered[P]], beam: int) -> Sequence[Lowered[P]]:
        """Those worth a judgement."""

    def costs(self, lowered: Sequence[Lowered[P]], *, is_final: bool) -> Sequence[float | str]:
        """The cost of each; with more care where the choice is between the last few."""


@dataclass(frozen=True, slots=True)
class Finalist:
    """A schedule of the last round with its cost."""

    opts: tuple[Opt, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, and what became of all it tried."""

    opts: tuple[Opt, ...]
    finalists: tuple[Finalist, ...]  # the cheapest first; the heuristics' choice is one of them
    by_heuristics: tuple[Opt, ...]
    rounds: int
    lowered: int
    judged: int
    duplicates: int
    dropped: tuple[tuple[str, int], ...]  # reason and count, in order of first need
    is_recalled: bool = False  # known from an earlier search


@dataclass(frozen=True, slots=True)
class _Entry(Generic[P]):
    kernel: Kernel
    lowered: Lowered[P]
    cost: float

    @property
    def rank(self) -> tuple[float, int, str]:
        """Equal costs: the fewer opts, then the order of their texts."""
        return self.cost, len(self.kernel.applied), format_opts(self.kernel.applied)


def beam_search(
    kernel: Kernel,
    target: Target,
    options: CompileOptions,
    lower: Callable[[tuple[Opt, ...]], Lowered[P]],
    judge: Judge[P],
) -> Searched:
    """The cheapest opts found for a kernel that has none; the heuristics' unless others are less.

    A schedule that cannot be lowered or does not run is dropped and counted. Raises only where not
    even the heuristics' choice can be lowered.
    """
    return _Search(target, options, lower, judge).run(kernel)


@dataclass(slots=True)
class _Search(Generic[P]):
    """One search; owns what it has seen and counted."""

    target: Target
    options: CompileOptions
    lower: Callable[[tuple[Opt, ...]], Lowered[P]]
    judge: Judge[P]
    states: set[object] = field(default_factory=set)  # only asked, never walked
    texts: set[str] = field(default_factory=set)  # likewise
    lowered: int = 0
    judged: int = 0
    duplicates: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def run(self, kernel: Kernel) -> Searched:
        first, *others = starts(kernel, self.target, self.options)
        own = self.lower(first.applied)  # what it raises, a compile without a search would raise
        self._note(first, own)
        beam = self._kept(self._entries([(first, own), *self._lowered_all(others)]))
        rounds, goes_on = 0, bool(beam)
        while goes_on and rounds < self.options.search.depth and not self._is_spent:
            beam, goes_on = self._round(beam)
            rounds += 1
        return self._finish(first, own, beam, rounds)

    @property
    def _is_spent(self) -> bool:
        return self.lowered >= self.options.search.tries

    def _round(self, beam: Sequence[_Entry[P]]) -> tuple[list[_Entry[P]], bool]:
        """The beam after a step from each of its schedules, and whether that got anywhere.

        Costs are compared within a round alone: a machine may be slower now than it was.
        """
        after = [
            candidate
            for entry in beam
            for candidate in candidates(entry.kernel, self.target, self.options)
        ]
        new = {lowered.text: (kernel, lowered) for kernel, lowered in self._lowered_all(after)}
        chosen = self.judge.select(
            [lowered for _, lowered in new.values()], self.options.search.beam
        )
        if not chosen:
            return list(beam), False
        old = {entry.lowered.text: (entry.kernel, entry.lowered) for entry in beam}
        found = self._entries([*old.values(), *[new[lowered.text] for lowered in chosen]])
        before = [entry.cost for entry in found if entry.lowered.text in old]
        goes_on = bool(found) and (not before or found[0].cost < _PROGRESS * before[0])
        return self._kept(found), goes_on

    def _kept(self, entries: Sequence[_Entry[P]]) -> list[_Entry[P]]:
        return list(entries[: self.options.search.beam])

    def _lowered_all(self, kernels: Iterable[Kernel]) -> list[tuple[Kernel, Lowered[P]]]:
        """Those that are new, as far as tries last."""
        found: list[tuple[Kernel, Lowered[P]]] = []
        for kernel in kernels:
            if self._is_spent:
                break
            if _state(kernel) in self.states:
                self.duplicates += 1
                continue
            self.states.add(_state(kernel))
            try:
                lowered = self.lower(kernel.applied)
            except CompilerError as error:
                self.lowered += 1
                self.dropped[type(error).__name__] += 1
                continue
            if self._note(kernel, lowered):
                found.append((kernel, lowered))
        return found

    def _note(self, kernel: Kernel, lowered: Lowered[P]) -> bool:
        """Whether the source is a new one."""
        self.lowered += 1
        self.states.add(_state(kernel))
        is_new = lowered.text not in self.texts
        self.texts.add(lowered.text)
        self.duplicates += not is_new
        return is_new

    def _entries(
        self, pairs: Sequence[tuple[Kernel, Lowered[P]]], *, is_final: bool = False
    ) -> list[_Entry[P]]:
        """Those that run, the cheapest first."""
        costs = self.judge.costs([lowered for _, lowered in pairs], is_final=is_final)
        self.judged += len(pairs)
        found: list[_Entry[P]] = []
        for (kernel, lowered), cost in zip(pairs, costs, strict=True):
            if isinstance(cost, str):
                self.dropped[cost] += 1
            else:
                found.append(_Entry(kernel, lowered, cost))
        return sorted(found, key=lambda entry: entry.rank)

    def _finish(
        self, first: Kernel, own: Lowered[P], beam: Sequence[_Entry[P]], rounds: int
    ) -> Searched:
        """Judge the last few and the heuristics' choice once more; theirs stays unless beaten."""
        pairs = [(entry.kernel, entry.lowered) for entry in beam]
        if own.text not in [lowered.text for _, lowered in pairs]:
            pairs.append((first, own))
        last = self._entries(pairs, is_final=True)
        wins = self._beats(last, own)
        if wins:  # by luck, perhaps: the best of many is more often lucky than one of two
            duel = [(last[0].kernel, last[0].lowered), (first, own)]
            wins = self._beats(self._entries(duel, is_final=True), own)
        return Searched(
            last[0].kernel.applied if wins else first.applied,
            tuple([Finalist(entry.kernel.applied, entry.cost) for entry in last]),
            first.applied,
            rounds,
            self.lowered,
            self.judged,
            self.duplicates,
            tuple(self.dropped.items()),
        )

    def _beats(self, entries: Sequence[_Entry[P]], own: Lowered[P]) -> bool:
        """Whether the cheapest of them stays below the heuristics' choice by the margin."""
        theirs = [entry.cost for entry in entries if entry.lowered is own]
        limit = theirs[0] * self.judge.margin if theirs else float("inf")
        return bool(entries) and entries[0].cost < limit


def _state(kernel: Kernel) -> object:
    """What a kernel is but for the names of its loops: the order of opts often does not matter."""
    axes = tuple([(axis.origin, axis.step, axis.size, axis.kind) for axis in kernel.axes])
    staged, kept = tuple(sorted(kernel.staged)), tuple(sorted(kernel.kept))
    return axes, replace(kernel, axes=(), applied=(), staged=staged, kept=kept)
