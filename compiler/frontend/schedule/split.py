"""Cuts the lazy graph into kernels.

A kernel computes one value; everything below it down to values in memory is fused into it. So the
question is which values go to memory. In this order:

1. What was asked for, the source of a CONTIGUOUS, and the table of a GATHER.
2. A value with a reduction in its kernel, where reading it through EXPAND, PAD or WINDOWS, or from
   inside another reduction would run that reduction more often. Not so where it goes along rows
   (`rows`): softmax is one kernel, in which a row is reduced twice before the next one is.
3. A value with a slow elementwise function (`SLOW`) or a GATHER in its kernel that EXPAND or
   WINDOWS repeat at least `REPEAT` times.
4. A value with a reduction in its kernel that is read by more than one kernel, or by one kernel
   through different views.
5. A value whose kernel would read more than `MAX_INPUTS` buffers, or be too deep. What is still to
   be read when `FAR` values more are computed is stored from a depth of `KEPT` on, as a gradient
   that goes back over a long chain would compute it anew; a value that alone of those so far is
   still to be read, from `DEPTH` on; one that is so but for values that are read much later, from
   `LONG` on; and any value from `MAX_DEPTH` on.
6. A value that a kernel would see through too many views (`crowds`).

Everything else is fused: elementwise chains into a reduction and after it (matmul + bias + relu is
one kernel), movements into the views of loads. Cheap elementwise work is repeated rather than
stored. Cuts are made at the value, below permutes, reshapes and flips of it. Then `join` makes one
of kernels that walk the same elements.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TypeAlias

from compiler.frontend.graph import MOVEMENTS, Kind, Value, toposort
from compiler.frontend.schedule.build import Built, MemoryOf, build
from compiler.frontend.schedule.crowds import crowded
from compiler.frontend.schedule.join import join
from compiler.frontend.schedule.rows import RERUNNING, Rows, has_rows, rows_of, stays
from compiler.frontend.symbolic import largest
from compiler.ir import Op

SLOW = frozenset((Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF, Op.POW))
REPEAT = 8
MAX_INPUTS = 32
FAR = 256
KEPT, DEPTH, LONG, MAX_DEPTH = 64, 128, 256, 512

_EXACT_MOVES = frozenset((Kind.PERMUTE, Kind.RESHAPE, Kind.FLIP))
_REPEATING = frozenset((Kind.EXPAND, Kind.WINDOWS))


class Reason(Enum):
    """Why a value gets a kernel of its own; the rules above."""

    ASKED = "it was asked for"
    CONTIGUOUS = "contiguous() asks for it"
    STEP = "it is a step of a function of several kernels"
    TABLE = "a gather reads it at computed offsets"
    RERUN = "its reduction would run again for every element that repeats, pads or reduces it"
    REPEAT = f"its slow function would run {REPEAT} times or more for each element"
    SHARED = "its reduction has several readers"
    INPUTS = f"a kernel reads no more than {MAX_INPUTS} buffers"
    DEPTH = "the chain of operations is long"
    ROWS = "its kernel goes along rows, and what else it would compute does not"
    CROWD = "its kernel would see one value through too many views"


_APART = (
    Reason.CONTIGUOUS,
    Reason.STEP,
    Reason.INPUTS,
    Reason.DEPTH,
    Reason.CROWD,
)  # joining would undo what was cut
Cuts: TypeAlias = Mapping[Value, Reason]


def split(
    roots: Sequence[Value], memory_of: MemoryOf, *, keeps_rows: bool = True
) -> tuple[Built, ...]:
    """The kernels that put every root in memory, in an order in which they can run.

    Kernels go along rows where the device can, unless `keeps_rows` forbids it.
    """
    found = split_with_reasons(roots, memory_of, keeps_rows=keeps_rows)
    return tuple([built for built, _ in found])


def split_with_reasons(
    roots: Sequence[Value], memory_of: MemoryOf, *, keeps_rows: bool = True
) -> tuple[tuple[Built, tuple[Reason, ...]], ...]:
    """As `split`, and for each kernel why its outputs go to memory."""
    order = toposort(roots, lambda value: memory_of(value) is not None)
    cuts = find_cuts(order, roots, memory_of, keeps_rows=keeps_rows)

    def place(value: Value) -> Hashable | None:
        return value if value in cuts else memory_of(value)

    wanted = frozenset([value for value, reason in cuts.items() if reason is Reason.ASKED])
    kernels = _needed([build(value, place) for value in order if value in cuts], wanted)
    alone = frozenset([value for value, reason in cuts.items() if reason in _APART])
    joined = join(kernels, wanted, alone, place)
    return tuple([(built, tuple([cuts[value] for value in built.made])) for built in joined])


def _needed(kernels: Sequence[Built], wanted: Collection[Value]) -> list[Built]:
    """Those that somebody reads: a kernel may read less than its graph, a branch never taken."""
    needed = set(wanted)
    kept: list[Built] = []
    for built in reversed(kernels):
        if not needed.isdisjoint(built.made):
            needed.update(built.read)
            kept.append(built)
    return kept[::-1]


def find_cuts(
    order: Sequence[Value], roots: Iterable[Value], memory_of: MemoryOf, *, keeps_rows: bool = True
) -> Cuts:
    """The values of a topologically sorted graph that get kernels of their own, and why."""
    asked = {root: Reason.ASKED for root in roots if memory_of(root) is None}
    for value in order:
        if memory_of(value) is not None:
            continue
        if value.kind is Kind.CONTIGUOUS:
            asked.setdefault(value, Reason.CONTIGUOUS if value.arg else Reason.STEP)
        elif value.kind is Kind.GATHER and memory_of(value.src[0]) is None:
            asked.setdefault(value.src[0], Reason.TABLE)
    consumers = _consumers(order, memory_of)
    crowds = crowded(order, consumers, asked)
    for value in crowds:
        if memory_of(value) is None:
            asked.setdefault(value, Reason.CROWD)
    demands = _demands(order, consumers, asked)
    joints = _joints(order, consumers, memory_of)
    keeps = frozenset([d for d in {v.device: None for v in order} if keeps_rows and has_rows(d)])
    graph = _Graph(order, demands, joints, keeps, memory_of)
    fused = _fuse(graph, asked)
    forks = _forks(order, consumers, fused)
    if not forks:
        return fused.cuts
    shared = dict.fromkeys(forks, Reason.SHARED)
    return _fuse(graph, {**shared, **asked}).cuts


def _joints(
    order: Sequence[Value], consumers: Mapping[Value, list[Value]], memory_of: MemoryOf
) -> dict[Value, int]:
    """Where a chain is best cut (see rule 5), and from which depth on."""
    place = {value: index for index, value in enumerate(order)}
    last_read = {v: max([place[c] for c in consumers[v]], default=-1) for v in order}
    ends: list[list[Value]] = [[] for _ in order]
    near: set[Value] = set()
    far = 0
    found: dict[Value, int] = {}
    for index, value in enumerate(order):
        is_far = last_read[value] - index >= FAR
        if value.src and last_read[value] >= 0 and memory_of(value) is None:
            ends[last_read[value]].append(value)
            far += is_far
            if not is_far:
                near.add(value)
        for over in ends[index]:
            far -= last_read[over] - place[over] >= FAR
            near.discard(over)
        if is_far and value.kind is Kind.ELEMENTWISE:
            found[value] = KEPT
        elif len(near) == 1 and value in near:
            found[value] = LONG if far else DEPTH
    return found


def _consumers(order: Sequence[Value], memory_of: MemoryOf) -> dict[Value, list[Value]]:
    consumers: dict[Value, list[Value]] = {value: [] for value in order}
    for value in order:
        if memory_of(value) is None:
            for child in dict.fromkeys(value.src):
                consumers[child].append(value)
    return consumers


@dataclass(frozen=True, slots=True)
class _Demand:
    """How a value is read: so as to run its reductions again, and how often each element.

    `readers` are those that see it as it is, or through reshapes.
    """

    reruns: bool = False
    repeats: float = 1.0
    readers: tuple[Value, ...] = ()


def _demands(
    order: Sequence[Value], consumers: Mapping[Value, list[Value]], asked: Cuts
) -> dict[Value, _Demand]:
    """Rules 2 and 3, from the top down: moves that keep every element pass the demand on."""
    demands: dict[Value, _Demand] = {}
    for value in reversed(order):
        found, readers = [_Demand()], list[Value]()
        for consumer in consumers[value]:
            readers.append(consumer)
            if consumer.kind in _EXACT_MOVES and consumer not in asked:
                further = demands[consumer]
                found.append(further)
                if consumer.kind is Kind.RESHAPE:
                    readers.extend(further.readers)
                elif any(reader.kind in RERUNNING for reader in further.readers):
                    found.append(_Demand(reruns=True))  # of rows in another order
            repeats = _repeats(consumer, value) if consumer.kind in _REPEATING else 1.0
            found.append(_Demand(repeats=repeats))
        reruns = any(demand.reruns for demand in found)
        repeats = max(demand.repeats for demand in found)
        demands[value] = _Demand(reruns, repeats, tuple(dict.fromkeys(readers)))
    return demands


def _repeats(consumer: Value, value: Value) -> float:
    """How often an element is read; of symbolic sizes, at most."""
    return largest(consumer.size) / max(largest(value.size), 1)


class _Work(IntEnum):
    """The heaviest thing that a kernel does to make a value."""

    CHEAP = 0
    SLOW = 1
    REDUCTION = 2


@dataclass(frozen=True, slots=True)
class _State:
    """What lies between a value and memory: the work, the buffers read, the longest path."""

    work: _Work
    inputs: frozenset[Hashable]
    depth: int
    rows: Rows | None = None  # where all its reductions go along the same


@dataclass(frozen=True, slots=True)
class _Fused:
    """The cuts of rules 1, 2, 3 and 5, and what lies below every value that is not cut."""

    cuts: Cuts
    states: Mapping[Value, _State]

    def is_reduction(self, value: Value) -> bool:
        return self.states[value].work is _Work.REDUCTION and value not in self.cuts

    def is_along_rows(self, value: Value) -> bool:
        """Whether it has an element for each place of rows that its kernel reduces."""
        rows = self.states[value].rows
        return rows is not None and rows.is_along

    def is_row_result(self, value: Value) -> bool:
        """Whether this movement only lays results of rows along them again."""
        return value not in self.cuts and self.states[value].rows is not None


@dataclass(frozen=True, slots=True)
class _Graph:
    """What is known of a graph before the first cut."""

    order: Sequence[Value]
    demands: Mapping[Value, _Demand]
    joints: Mapping[Value, int]
    keeps_rows: Set[str]  # devices whose kernels go along rows
    memory_of: MemoryOf


def _fuse(graph: _Graph, fixed: Cuts) -> _Fused:
    cuts = dict(fixed)
    states: dict[Value, _State] = {}
    for value in graph.order:
        memory = graph.memory_of(value)
        if memory is not None:
            states[value] = _in_memory(memory)
            continue
        _limit_inputs(value, states, cuts)
        _part_rows(value, states, cuts)
        states[value] = state = _state(value, [states[child] for child in value.src], graph)
        most = graph.joints.get(value, MAX_DEPTH)
        reason = cuts.get(value) or _why_cut(value, state, graph.demands[value], most)
        if reason is not None:
            cuts[value] = reason
            states[value] = _in_memory(value)
    return _Fused(cuts, states)


def _in_memory(memory: Hashable) -> _State:
    return _State(_Work.CHEAP, frozenset((memory,)), 0)


def _state(value: Value, below: Sequence[_State], graph: _Graph) -> _State:
    work = max([state.work for state in below], default=_Work.CHEAP)
    if value.kind is Kind.REDUCE:
        work = _Work.REDUCTION
    elif value.kind is Kind.GATHER or (value.kind is Kind.ELEMENTWISE and value.arg in SLOW):
        work = max(work, _Work.SLOW)
    inputs = below[0].inputs if len(below) == 1 else _union(below)
    depth = 1 + max([state.depth for state in below], default=0)
    if work is not _Work.REDUCTION or value.device not in graph.keeps_rows:
        return _State(work, inputs, depth)
    heavy = [state.work is _Work.REDUCTION for state in below]
    return _State(work, inputs, depth, rows_of(value, [state.rows for state in below], heavy))


def _union(states: Iterable[_State]) -> frozenset[Hashable]:
    return frozenset().union(*[state.inputs for state in states])


def _why_cut(value: Value, state: _State, demand: _Demand, most: int) -> Reason | None:
    """Rules 2, 3 and the depth of 5."""
    if state.work is _Work.REDUCTION:
        if demand.reruns or not all(stays(value, state.rows, each) for each in demand.readers):
            return Reason.RERUN
    elif state.work is _Work.SLOW and demand.repeats >= REPEAT:
        return Reason.REPEAT
    return Reason.DEPTH if state.depth >= most else None


def _limit_inputs(value: Value, states: dict[Value, _State], cuts: dict[Value, Reason]) -> None:
    """Rule 5: cut the sources that read most until the rest fits."""
    sources = dict.fromkeys(value.src)
    while len(_union([states[child] for child in sources])) > MAX_INPUTS:
        largest = max(sources, key=lambda child: len(states[child].inputs))
        cuts[largest] = Reason.INPUTS
        states[largest] = _in_memory(largest)


def _part_rows(value: Value, states: dict[Value, _State], cuts: dict[Value, Reason]) -> None:
    """Rule 2: cut sources that go along rows where another source reduces something else."""
    heavy = [child for child in dict.fromkeys(value.src) if states[child].work is _Work.REDUCTION]
    if len({states[child].rows for child in heavy}) < 2:
        return
    for child in heavy:
        rows = states[child].rows
        if rows is not None and rows.is_along:
            cuts[child] = Reason.ROWS
            states[child] = _in_memory(child)


_MANY = object()


def _forks(
    order: Sequence[Value], consumers: Mapping[Value, list[Value]], fused: _Fused
) -> frozenset[Value]:
    """Rule 4, from the top down: reductions that would run for several readers.

    A reader is a kernel, or a movement inside one: through it a value is seen in another order.
    """
    forks: set[Value] = set()
    readers: dict[Value, object] = {}
    for value in reversed(order):
        found = {_reader(consumer, fused, forks, readers) for consumer in consumers[value]}
        readers[value] = found.pop() if len(found) == 1 else _MANY
        is_heavy = fused.is_reduction(value) and not fused.is_along_rows(value)
        if is_heavy and readers[value] is _MANY and value.kind not in _EXACT_MOVES:
            forks.add(value)
    return frozenset(forks)


def _reader(
    consumer: Value, fused: _Fused, forks: Set[Value], readers: Mapping[Value, object]
) -> object:
    if consumer in fused.cuts or consumer in forks:
        return consumer
    if consumer.kind in MOVEMENTS and not fused.is_row_result(consumer):
        return consumer if readers[consumer] is not _MANY else _MANY
    return readers[consumer]
