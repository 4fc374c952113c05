"""What Python code decided by the number that a symbolic size happened to be.

A kernel is right for every number, but code that asks `size < 30` goes one of two ways. Whoever
keeps what it made for other numbers (a recorded program) has to know.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from compiler.backends import size_value
from compiler.ir import Op, Size, sym

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


_found: ContextVar[dict[Assumption, None] | None] = ContextVar("assumptions", default=None)


@contextmanager
def assuming() -> Iterator[dict[Assumption, None]]:
    """The dict grows by everything that this thread assumes inside the block."""
    found: dict[Assumption, None] = {}
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
    found = _found.get()
    if found is not None:
        found[Assumption(left, op, right, answer)] = None
    return answer
