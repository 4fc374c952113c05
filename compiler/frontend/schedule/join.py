"""Kernels that walk the same elements become one with several outputs: each input is read once.

Two kernels join if their outputs have one shape and

* they read a common buffer, or one reads the other's output, element by element;
* their reductions, if they have any, are over the same sizes, and no sum of products is among them:
  tiles of products are made for one output;
* together they make no more than `MAX_VALUES` values and use no more than `MAX_BUFFERS` buffers;
* neither was cut off on purpose (`alone`: contiguous, too deep, too many inputs);
* nothing that lies between them needs the one and is needed by the other.

What only the joined kernel itself reads is not stored. A kernel looks back at `LOOK_BACK` kernels
at most for each buffer that it reads, so the work grows with the number of kernels and no faster.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from compiler.frontend.graph import Shape, Value
from compiler.frontend.schedule.build import Built, MemoryOf, build_together
from compiler.ir import Node, Op, Size, toposort

MAX_BUFFERS, MAX_VALUES = 32, 8
LOOK_BACK = 4
_MOST_BETWEEN = 64  # kernels that are looked through before two are left apart


@dataclass(slots=True)
class _Group:
    """Kernels that are one; grows while `join` goes through the schedule, which owns it."""

    built: Built
    values: tuple[Value, ...]  # all that it makes, stored or not
    sizes: tuple[Size, ...] | None  # of the reduce axes; None: it has none
    first: int
    last: int


def join(
    kernels: Sequence[Built],
    wanted: Collection[Value],
    alone: Collection[Value],
    memory_of: MemoryOf,
) -> tuple[Built, ...]:
    """The schedule with kernels joined, in an order in which they can run.

    `wanted` are the outputs that somebody else than these kernels reads.
    """
    joining = _Joining(wanted, memory_of, _readers(kernels))
    for number, built in enumerate(kernels):
        is_free = built.made[0] not in alone and not _is_product(built.ast)
        joining.add(number, built, is_free=is_free)
    return joining.ordered()


def _readers(kernels: Sequence[Built]) -> dict[Value, list[Value]]:
    """For each output the values whose kernels read it."""
    readers: dict[Value, list[Value]] = {}
    for built in kernels:
        for value in built.read:
            readers.setdefault(value, []).extend(built.made)
    return readers


class _Joining:
    """The groups so far, where each value is made, and which groups read a buffer."""

    def __init__(
        self,
        wanted: Collection[Value],
        memory_of: MemoryOf,
        readers: Mapping[Value, Sequence[Value]],
    ) -> None:
        self.wanted, self.memory_of, self.readers = wanted, memory_of, readers
        self.groups: list[_Group] = []
        self.maker: dict[Value, _Group] = {}
        self.recent: dict[tuple[Shape, str, Hashable], list[_Group]] = {}

    def add(self, number: int, built: Built, *, is_free: bool) -> None:
        group = _Group(built, built.made, _reduced(built.ast), number, number)
        joined = self._join(group) if is_free else None
        if joined is None:
            self.groups.append(group)
            joined = group
        for value in group.values:
            self.maker[value] = joined
        if is_free:
            self._remember(joined, built)

    def _remember(self, group: _Group, built: Built) -> None:
        root = built.made[0]
        for value in built.buffers:
            seen = self.recent.setdefault((root.shape, root.device, value), [])
            if group not in seen:
                seen.append(group)
                del seen[:-LOOK_BACK]

    def _join(self, new: _Group) -> _Group | None:
        root = new.values[0]
        for value in new.built.read:
            for group in reversed(self.recent.get((root.shape, root.device, value), ())):
                built = self._together(group, new)
                if built is not None:
                    group.built, group.values = built, (*group.values, *new.values)
                    group.sizes = group.sizes or new.sizes
                    group.last = new.last
                    return group
        return None

    def _together(self, group: _Group, new: _Group) -> Built | None:
        if group.sizes and new.sizes and group.sizes != new.sizes:
            return None
        if len(group.values) == MAX_VALUES or not _reads_in_place(new.built, group.values):
            return None
        if self._is_between(group, new):
            return None
        if len(set(group.built.buffers) | set(new.built.buffers)) > MAX_BUFFERS:
            return None
        inside = (*group.values, *new.values)
        stored = [value for value in inside if self._is_read_elsewhere(value, inside)]
        return build_together(stored, inside, self.memory_of)

    def _is_read_elsewhere(self, value: Value, inside: Collection[Value]) -> bool:
        if value in self.wanted:
            return True
        return any(reader not in inside for reader in self.readers.get(value, ()))

    def _is_between(self, group: _Group, new: _Group) -> bool:
        """Whether a third group needs `group` and is needed by `new`, or too many lie between."""
        pending = [self.maker[v] for v in new.built.read if v in self.maker]
        pending = [other for other in pending if other is not group]
        seen: list[_Group] = []
        while pending:
            other = pending.pop()
            if other is group:
                return True
            if other in seen or other.last < group.first:
                continue
            seen.append(other)
            if len(seen) > _MOST_BETWEEN:
                return True
            pending.extend([self.maker[v] for v in other.built.read if v in self.maker])
        return False

    def ordered(self) -> tuple[Built, ...]:
        """The groups, each after those that it reads, otherwise as they came."""
        order: list[_Group] = []
        done: set[int] = set()
        for group in self.groups:
            stack = [(group, False)]
            while stack:  # iterative: schedules are deeper than Python's stack
                current, is_expanded = stack.pop()
                if is_expanded:
                    order.append(current)
                elif current.first not in done:
                    done.add(current.first)
                    stack.append((current, True))
                    below = [self.maker[v] for v in current.built.read if v in self.maker]
                    stack.extend([(other, False) for other in reversed(below)])
        return tuple([group.built for group in order])


def _reduced(ast: Node) -> tuple[Size, ...] | None:
    return tuple([size for name, size in ast.attr[0] if name.startswith("r")]) or None


def _reads_in_place(built: Built, values: Collection[Value]) -> bool:
    """Whether every read of `values` is of the element that is computed: no more is needed."""
    slots = [slot for slot, value in enumerate(built.buffers) if value in values]
    if not slots:
        return True
    own = built.ast.src[0].attr[0]  # where the result goes
    for node in toposort(built.ast):
        if node.op is Op.GATHER and node.src[0].attr[0] in slots:
            return False
        if node.op is Op.LOAD and node.src[0].attr[0] in slots and node.attr[0] != own:
            return False
    return True


def _is_product(ast: Node) -> bool:
    """Whether the kernel sums products."""
    return any(
        node.op is Op.REDUCE and node.attr[0] is Op.ADD and node.src[0].op is Op.MUL
        for node in toposort(ast)
    )
