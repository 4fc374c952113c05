"""The search alone: knows numbers of commits and what was found there, no compiler and no git.

Every kernel has an interval: good at its start, bad at its end. A commit is asked once, for all
kernels whose interval it halves or cuts.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"  # no verdict possible there


@dataclass(frozen=True, slots=True)
class Cell:
    """What a commit makes of a kernel: a verdict, and the digest or the reason behind it."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The first bad commit is one of first..last; they are equal where it could be told."""

    first: int
    last: int

    @property
    def is_exact(self) -> bool:
        return self.first == self.last


Ask = Callable[[int, Sequence[str]], Mapping[str, Cell]]


@dataclass(slots=True)
class _Interval:
    """good < first bad <= bad. Owned by the search."""

    good: int
    bad: int
    skipped: set[int] = field(default_factory=set)  # only asked

    def middle(self) -> int | None:
        """The commit nearest to the middle that may have a verdict; None where there is none."""
        inner = [n for n in range(self.good + 1, self.bad) if n not in self.skipped]
        return min(inner, key=lambda n: (abs(2 * n - self.good - self.bad), n), default=None)

    def learn(self, commit: int, kind: Kind) -> None:
        if kind is Kind.GOOD:
            self.good = commit
        elif kind is Kind.BAD:
            self.bad = commit
        else:
            self.skipped.add(commit)


class Search:
    """Finds the first bad commit of each kernel, all of them good at 0 and bad at `last`."""

    def __init__(self, keys: Sequence[str], last: int, ask: Ask) -> None:
        self._intervals = {key: _Interval(0, last) for key in keys}
        self._ask = ask

    def run(self) -> dict[str, Found]:
        while (commit := self._next()) is not None:
            keys = [
                key
                for key, each in self._intervals.items()
                if each.good < commit < each.bad and commit not in each.skipped
            ]
            for key, cell in self._ask(commit, keys).items():
                self._intervals[key].learn(commit, cell.kind)
        return {key: Found(each.good + 1, each.bad) for key, each in self._intervals.items()}

    def _next(self) -> int | None:
        """The commit that is the middle for most kernels."""
        middles = [each.middle() for each in self._intervals.values()]
        counts = Counter(middle for middle in middles if middle is not None)
        return min(counts, key=lambda commit: (-counts[commit], commit), default=None)
