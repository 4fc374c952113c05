"""The loop: take the first smaller question that fails alike, until there is none."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compiler import CompilerError
from compiler.ir import Spec, verify
from replay.reduce.example import Example
from replay.reduce.rebuild import renumbered
from replay.reduce.reducers import REDUCERS
from replay.reduce.signature import Question, Signature

Reducer = Callable[[Example], Iterator[Example]]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest found, and how many questions it took; `is_done`: nothing smaller was left."""

    example: Example
    asked: int
    is_done: bool


def shrink(
    example: Example, wanted: Signature, ask: Callable[[Question], Signature], most: int
) -> Reduced:
    """The smallest question found that has the signature `wanted`, by at most `most` questions."""
    return _Shrinking(example, wanted, ask, most).run()


class _Shrinking:
    """One reduction; owns the smallest example so far and what was asked."""

    def __init__(
        self, example: Example, wanted: Signature, ask: Callable[[Question], Signature], most: int
    ) -> None:
        self._best = example
        self._wanted = wanted
        self._ask = ask
        self._left = most
        self._most = most
        self._seen: set[str] = set()  # only asked, never walked

    def run(self) -> Reduced:
        before = None
        while before is not self._best and self._left > 0:
            before = self._best
            for reducer in REDUCERS:
                while self._step(reducer):
                    pass
        asked = self._most - self._left
        return Reduced(self._best, asked, self._left > 0)

    def _step(self, reducer: Reducer) -> bool:
        """Whether the reducer has found a smaller one."""
        for candidate in _candidates(reducer, self._best):
            if self._left == 0:
                return False
            if self._is_new(candidate) and self._fails_alike(candidate):
                self._best = candidate
                return True
        return False

    def _is_new(self, candidate: Example) -> bool:
        text = repr(candidate.question)
        if candidate.size >= self._best.size or text in self._seen:
            return False
        self._seen.add(text)
        return True

    def _fails_alike(self, candidate: Example) -> bool:
        self._left -= 1
        return self._ask(candidate.question) == self._wanted


def _candidates(reducer: Reducer, example: Example) -> Iterator[Example]:
    """What it yields, made tidy, as far as it is valid."""
    found = reducer(example)
    while True:
        try:
            candidate = next(found, None)
            if candidate is None:
                return
            candidate = replace(candidate, ast=renumbered(candidate.ast))
            verify(candidate.ast, Spec.KERNEL)
        except (CompilerError, ValueError, ArithmeticError):
            continue
        yield candidate
