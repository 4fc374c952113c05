"""What Python code decided by the number that a symbolic size happened to be.

A kernel is right for every number, but code that asks `size < 30` goes one of two ways. Whoever
keeps what it made for other numbers (a recorded program) has to know.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod

from compiler.backends import size_value
from compiler.ir import INT64, Op, Size, sym

LOWEST, HIGHEST = int(INT64.lowest), int(INT64.highest)  # kernels count so far
_HOLDS = {
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
}
_SIGNS = {
    (Op.LT, True): "<",
    (Op.LE, True): "<=",
    (Op.EQ, True): "=",
    (Op.LT, False): ">=",
    (Op.LE, False): ">",
    (Op.EQ, False): "!=",
}


@dataclass(frozen=True, slots=True)
class Assumption:
    """`left op right` was `answer`, for LT, LE or EQ at some values of variables."""

    left: Size
    op: Op
    right: Size
    answer: bool

    def __str__(self) -> str:
        sign = _SIGNS[self.op, self.answer]
        return f"{sym.text(self.left)} {sign} {sym.text(self.right)}"

    def holds(self, variables: Mapping[str, int]) -> bool:
        """Whether other values give the same answer."""
        left, right = size_value(self.left, variables), size_value(self.right, variables)
        return _HOLDS[self.op](left, right) is self.answer


@dataclass(frozen=True, slots=True)
class Countable:
    """Whether a shape had no more elements than 64 bits count, axes without any left aside."""

    shape: tuple[Size, ...]
    answer: bool

    def __str__(self) -> str:
        sizes = ", ".join([sym.text(size) for size in self.shape])
        return f"shape ({sizes}) has {'fewer' if self.answer else 'no fewer'} than 2**63 elements"

    def holds(self, variables: Mapping[str, int]) -> bool:
        """Whether other values give the same answer."""
        count = prod([size_value(size, variables) or 1 for size in self.shape])
        return (count <= HIGHEST) is self.answer


Assumed = Assumption | Countable
_found: ContextVar[dict[Assumed, None] | None] = ContextVar("assumptions", default=None)


def fitting(size: Size) -> Iterator[Assumption]:
    """That 64 bits hold a size, if there are values of its variables for which they do not."""
    low, high = sym.interval(size)
    if high > HIGHEST:
        yield Assumption(size, Op.LE, HIGHEST, answer=True)
    if low < LOWEST:
        yield Assumption(size, Op.LT, LOWEST, answer=False)


@contextmanager
def assuming() -> Iterator[dict[Assumed, None]]:
    """The dict grows by everything that this thread assumes inside the block."""
    found: dict[Assumed, None] = {}
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def is_noted() -> bool:
    """Whether somebody asked for what this thread assumes."""
    return _found.get() is not None


def assume(left: Size, op: Op, right: Size, *, answer: bool) -> bool:
    """The answer, noted where somebody asked for it."""
    note(Assumption(left, op, right, answer))
    return answer


def note(*assumed: Assumed) -> None:
    """Note what is assumed, where somebody asked for it."""
    found = _found.get()
    if found is not None:
        found.update(dict.fromkeys(assumed))
