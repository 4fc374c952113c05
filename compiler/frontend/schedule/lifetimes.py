"""When memory on the way is needed no longer, and how much of it there is at once.

`scratch_of` finds the values that nobody but the schedule can ask for; all others stay in memory,
so that nothing is computed twice. `lifetimes` says after which kernel each of them is free.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from gc import get_referents
from types import CellType, FunctionType

from compiler.frontend.formulas import formula_of
from compiler.frontend.graph import Value, toposort
from compiler.frontend.schedule.build import Built
from compiler.frontend.symbolic import plain

_OWN_REFERENCES = 5  # in `scratch_of`: order, key, `made`, the loop's variable, the argument


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """`free_after[i]` are the values whose memory is free after kernel i. Bytes are of outputs."""

    free_after: tuple[tuple[Value, ...], ...]
    peak_bytes: int
    total_bytes: int


def scratch_of(kernels: Sequence[Built], wanted: Collection[Value]) -> tuple[Value, ...]:
    """Outputs that only these kernels and the graph of `wanted` refer to.

    They are told by their reference counts: a tensor or another graph that could ask for one later
    has a reference as well. Where there are more than are accounted for, a value is kept.
    """
    order = toposort(wanted)
    known = dict.fromkeys(order, 0)
    for value in order:
        for child in value.src:
            known[child] += 1
    _count_formulas(order, known)
    for built in kernels:
        for value in built.buffers:
            known[value] = known.get(value, 0) + 1
    made = [value for built in kernels for value in built.made]
    kept = frozenset(wanted)
    found: list[Value] = []
    for value in made:
        if value not in kept and sys.getrefcount(value) <= known[value] + _OWN_REFERENCES:
            found.append(value)
    return tuple(found)


def _count_formulas(order: Sequence[Value], known: dict[Value, int]) -> None:
    """Count what formulas of the graph hold: their inputs, and what their rules close over."""
    pending: list[object] = [formula for value in order if (formula := formula_of(value))]
    seen: set[int] = set()  # of objects that are alive all the while; compared with nothing else
    while pending:
        holder = pending.pop()
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        for held in get_referents(holder):
            if isinstance(held, Value):
                known[held] = known.get(held, 0) + 1
            elif isinstance(held, FunctionType | CellType | tuple | partial):
                pending.append(held)


def lifetimes(kernels: Sequence[Built], scratch: Collection[Value]) -> Lifetimes:
    """What becomes free when, and what the outputs take together and at most at once."""
    own = frozenset(scratch)
    last: dict[Value, int] = {}
    for number, built in enumerate(kernels):
        for value in built.buffers:
            last[value] = number
    free_after: list[tuple[Value, ...]] = []
    live = peak = total = 0
    for number, built in enumerate(kernels):
        live += sum([_bytes(value) for value in built.made])
        total += sum([_bytes(value) for value in built.made])
        peak = max(peak, live)
        over = dict.fromkeys([v for v in built.buffers if v in own and last[v] == number])
        live -= sum([_bytes(value) for value in over])
        free_after.append(tuple(over))
    return Lifetimes(tuple(free_after), peak, total)


def _bytes(value: Value) -> int:
    return plain(value.size) * value.dtype.itemsize
