"""Rows: what follows one another along the last axes of an array, with one result for each row.

A kernel that has the whole of a row at hand reduces it, and reduces it again by that result
(softmax: the maximum, then the sum), before it goes on to the next: reductions over the same last
axes, whose results come back by EXPAND along those axes alone. Any other movement of the rows would
run the reductions again for every element.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

from compiler.frontend.graph import Kind, Shape, Value
from compiler.frontend.symbolic import largest, smallest
from compiler.target import find_target

RERUNNING = frozenset((Kind.EXPAND, Kind.WINDOWS, Kind.PAD, Kind.REDUCE))

MAX_ROW = 1 << 14  # elements: a row is read several times, from a cache
FEWEST_ROWS = 16  # so that threads can share them; or
SMALL = 1 << 14  # elements in all: there is no work to share
MAX_LEVELS = 3  # reductions one after the other: each reads the row, and computes it anew


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a value's reductions go along; `is_along` if it has an element for each place.

    Otherwise it has one for each row, perhaps with axes of size 1 in place of the others.
    """

    shape: Shape
    kept: int  # axes before those of a row
    is_along: bool = False
    levels: int = field(default=1, compare=False)  # reductions, one after the other

    @property
    def outer(self) -> Shape:
        """The sizes without those of a row."""
        return self.shape[: self.kept]


@lru_cache(maxsize=64)
def has_rows(device: str) -> bool:
    """Whether one work item may have a whole row: not on a device that has groups of them."""
    return not find_target(device).capabilities.has_local


def rows_of(value: Value, below: Sequence[Rows | None], heavy: Sequence[bool]) -> Rows | None:
    """What rows `value` belongs to, from those of its sources and which of them reduce something.

    None: there is a reduction below it, and it does not go along rows, or not along these.
    """
    if value.kind is Kind.REDUCE:
        return _reduced(value, below[0], is_again=heavy[0])
    if value.kind is Kind.ELEMENTWISE:
        return _common([rows for rows, is_heavy in zip(below, heavy, strict=True) if is_heavy])
    rows = below[0] if len(below) == 1 else None
    if rows is None or rows.is_along:
        return None
    if value.kind is Kind.RESHAPE:
        return rows if is_for_rows(value.shape, rows) else None
    if value.kind is Kind.EXPAND and value.shape == rows.shape:
        return replace(rows, is_along=True) if is_for_rows(value.src[0].shape, rows) else None
    return None


def _common(found: Sequence[Rows | None]) -> Rows | None:
    first = found[0] if found else None
    if first is None or any(rows != first for rows in found):
        return None
    return replace(first, levels=max([rows.levels for rows in found if rows is not None]))


def _reduced(value: Value, below: Rows | None, *, is_again: bool) -> Rows | None:
    source, (_, axes) = value.src[0], value.arg
    kept = source.ndim - len(axes)
    if axes != tuple(range(kept, source.ndim)):
        return None
    rows = Rows(source.shape, kept)
    if not is_again:
        return rows
    if below != replace(rows, is_along=True) or below.levels == MAX_LEVELS:
        return None
    return replace(rows, levels=below.levels + 1)


def is_for_rows(shape: Shape, rows: Rows) -> bool:
    """Whether a shape has one element for each row, and says so."""
    rest = shape[rows.kept :]
    return shape[: rows.kept] == rows.outer and all(size == 1 for size in rest)


def is_worth_keeping(rows: Rows) -> bool:
    """Whether a row stays in a cache, and rows are many enough, or all of them few."""
    row = prod([largest(size) for size in rows.shape[rows.kept :]])
    fewest, most = [prod([end(size) for size in rows.outer]) for end in (smallest, largest)]
    return row <= MAX_ROW and (fewest >= FEWEST_ROWS or row * most <= SMALL)


def stays(value: Value, rows: Rows | None, consumer: Value) -> bool:
    """Whether `consumer` reads a value that reduces something without running that again."""
    if rows is not None and consumer.kind in (Kind.REDUCE, Kind.EXPAND):
        return is_worth_keeping(rows) and rows_of(consumer, (rows,), (True,)) is not None
    if rows is not None and rows.is_along:
        return consumer.kind in (Kind.ELEMENTWISE, Kind.CONTIGUOUS)
    return consumer.kind not in RERUNNING
