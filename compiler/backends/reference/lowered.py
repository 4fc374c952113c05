"""Runs a lowered stage: loops as loops, parallel ranges and hardware indices as array dimensions.

All work items go through the steps together, so a BARRIER only separates accesses. Two accesses of
different work items to one element of a LOCAL array, one of them a write, with no BARRIER between
them, are reported as a race.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from compiler.backends.reference.arithmetic import Array, apply, identity, numpy_dtype
from compiler.backends.reference.pixels import read_pixel, write_pixel
from compiler.backends.reference.schedule import (
    Block,
    Branch,
    Loop,
    Schedule,
    is_item,
    schedule,
)
from compiler.backends.reference.views import size_of, variable
from compiler.backends.reference.warps import multiply
from compiler.errors import DeviceError
from compiler.ir import (
    ARRAYS,
    ELEMENTWISE,
    PLACE,
    AxisKind,
    Node,
    Op,
    acc_of,
    find_core,
    toposort,
)

TEMPORARY_ELEMENTS = 1 << 24  # of all steps of a chunk together
LEAST_CHUNK = 1 << 12  # positions: fewer are not worth a walk over the steps


def run_lowered(root: Node, memory: dict[int, Array], variables: Mapping[str, int]) -> None:
    """Run a lowered stage on flat buffers, which it changes."""
    plan = schedule(root)
    sizes = tuple([_extent(lane, variables) for lane in plan.lanes])
    if 0 in sizes:
        return
    steps = max(1, len(root.src) if root.op is Op.PROGRAM else _count(plan.body))
    most = max(LEAST_CHUNK, TEMPORARY_ELEMENTS // steps)
    held = sum([node.attr[1] for node in toposort(root) if node.op is Op.LOCAL])
    if held:  # each group has its own
        most = min(most, max(1, TEMPORARY_ELEMENTS // held))
    for intervals in _chunks(plan.lanes, sizes, most):
        _Machine(plan, intervals, memory, variables).run()


def _extent(lane: Node, variables: Mapping[str, int]) -> int:
    return size_of(lane.src[0], variables)


def _count(block: Block) -> int:
    return sum([1 if isinstance(step, Node) else 1 + _count(step.body) for step in block])


def _is_cut(lane: Node) -> bool:
    """Whether different values of this index have nothing to do with each other."""
    if lane.op is Op.SPECIAL:
        return not is_item(lane)
    return lane.attr[1] is AxisKind.GLOBAL


def _chunks(
    lanes: tuple[Node, ...], sizes: tuple[int, ...], most: int
) -> Iterator[tuple[slice, ...]]:
    """Intervals of the lanes: independent ones are cut until chunks have `most` positions."""
    widths = list(sizes)
    for number, lane in enumerate(lanes):
        while _is_cut(lane) and widths[number] > 1 and _product(widths) > most:
            widths[number] = (widths[number] + 1) // 2
    cuts = [
        [slice(low, min(low + width, size)) for low in range(0, size, width)]
        for width, size in zip(widths, sizes, strict=True)
    ]
    return itertools.product(*cuts)


def _product(sizes: list[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


@dataclass
class _Shared:
    """A LOCAL array in every group, and who touched it since the BARRIER: -1 nobody, -2 several."""

    cells: Array
    writer: Array
    reader: Array


@dataclass
class _Machine:
    """The state of one chunk. Owned by `run_lowered`."""

    plan: Schedule
    intervals: tuple[slice, ...]
    memory: dict[int, Array]
    variables: Mapping[str, int]
    values: dict[Node, Array] = field(default_factory=dict)
    shared: dict[Node, _Shared] = field(default_factory=dict)
    mask: Array | None = None  # where the open IFs hold
    group: Array = field(default_factory=lambda: np.zeros((), np.int64))
    item: Array = field(default_factory=lambda: np.zeros((), np.int64))
    groups: int = 1

    def run(self) -> None:
        rank = len(self.plan.lanes)
        for number, lane in enumerate(self.plan.lanes):
            interval = self.intervals[number]
            shape = [-1 if number == dimension else 1 for dimension in range(rank)]
            index = np.arange(interval.start, interval.stop)
            self.values[lane] = index.astype(numpy_dtype(lane.dtype)).reshape(shape)
            local = np.arange(len(index)).reshape(shape)
            if is_item(lane):
                self.item = self.item * len(index) + local
            elif _is_cut(lane):  # all lanes of a work item share the memory of its group
                self.group = self.group * len(index) + local
                self.groups *= len(index)
        self.block(self.plan.body)

    def block(self, steps: Block) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self.loop(step)
            elif isinstance(step, Branch):
                self.branch(step)
            else:
                self.step(step)

    # --- control ---

    def loop(self, loop: Loop) -> None:
        if loop.node.op is Op.FOLD:
            start = np.asarray(identity(loop.node.attr[0], loop.node.dtype))
            start = start.astype(numpy_dtype(loop.node.dtype))
            self.values[loop.node] = start[..., None] if loop.node.dtype.count > 1 else start
        parts: list[Array] = []  # of a FRAGMENT
        for acc, init in zip(loop.accs, loop.inits, strict=False):
            self.values[acc] = self.values[init]
        counts = [range(_extent(node, self.variables)) for node in loop.ranges]
        for indices in itertools.product(*counts):
            for node, index in zip(loop.ranges, indices, strict=True):
                self.values[node] = np.asarray(index, numpy_dtype(node.dtype))
            self.block(loop.body)
            if loop.node.op is Op.FRAGMENT:
                parts.append(self.values[loop.values[0]])
            else:
                self.advance(loop)
        if parts:
            self.values[loop.node] = np.stack(np.broadcast_arrays(*parts), axis=-1)

    def advance(self, loop: Loop) -> None:
        """The end of an iteration of a graph's loop."""
        if loop.node.op is Op.FOLD:
            op, dtype = loop.node.attr[0], loop.node.dtype
            for term in loop.values:
                total = self.values[loop.node]
                self.values[loop.node] = apply(op, dtype, dtype, total, self.values[term])
            return
        following = [self.values[value] for value in loop.values]
        self.values.update(zip(loop.accs, following, strict=True))

    def branch(self, branch: Branch) -> None:
        outer, condition = self.mask, self.values[branch.node.src[0]]
        self.mask = condition if outer is None else outer & condition
        if np.any(self.mask):
            self.block(branch.body)
        self.mask = outer

    # --- steps ---

    def step(self, node: Node) -> None:
        if node.op in ELEMENTWISE:
            sources = [self.values[child] for child in node.src]
            self.values[node] = apply(node.op, node.dtype, node.src[0].dtype, *sources)
        elif node.op in _STEPS:
            _STEPS[node.op](self, node)

    def const(self, node: Node) -> None:
        self.values[node] = np.asarray(node.value, numpy_dtype(node.dtype))

    def var(self, node: Node) -> None:
        self.values[node] = variable(node, self.variables)

    def splat(self, node: Node) -> None:
        value = self.values[node.src[0]]
        self.values[node] = np.broadcast_to(value[..., None], (*value.shape, node.dtype.count))

    def stack(self, node: Node) -> None:
        lanes = np.broadcast_arrays(*[self.values[child] for child in node.src])
        self.values[node] = np.stack(lanes, axis=-1)

    def lane(self, node: Node) -> None:
        self.values[node] = self.values[node.src[0]][..., node.attr[0]]

    def shuffle(self, node: Node) -> None:
        vectors = np.broadcast_arrays(*[self.values[child] for child in node.src])
        self.values[node] = np.concatenate(vectors, axis=-1)[..., list(node.attr[0])]

    def element(self, node: Node) -> None:
        vector, place = self.values[node.src[0]], np.zeros((), np.int64)
        for axis in node.src[1:]:
            place = place * _extent(axis, self.variables) + self.values[axis]
        shape = np.broadcast_shapes(vector.shape[:-1], place.shape)
        vector = np.broadcast_to(vector, (*shape, vector.shape[-1]))
        place = np.broadcast_to(place, shape)[..., None]
        self.values[node] = np.take_along_axis(vector, place, axis=-1)[..., 0]

    def wmma(self, node: Node) -> None:
        """Work items of a warp are neighbours in their group: they are the last of its indices."""
        core = find_core(node.attr[0])
        assert core is not None, "the stage is verified"
        sizes = [cut.stop - cut.start for cut in self.intervals]
        items = [self.plan.lanes.index(lane) for lane in self.plan.items]
        others = [number for number in range(len(sizes)) if number not in items]
        order = (*others, *items)
        outer = [sizes[number] for number in others]
        held: list[Array] = []
        for child in node.src:
            value = np.broadcast_to(self.values[child], (*sizes, child.dtype.count))
            value = value.transpose((*order, len(sizes)))
            held.append(value.reshape((*outer, -1, core.items, child.dtype.count)))
        result = multiply(core, *held)
        result = result.reshape([*[sizes[number] for number in order], node.dtype.count])
        back = [order.index(number) for number in range(len(sizes))]
        self.values[node] = result.transpose((*back, len(sizes)))

    def assign(self, node: Node) -> None:
        acc, new = node.src[0], self.values[node.src[1]]
        old = self.values.get(acc)
        if self.mask is not None and old is not None:
            mask = self.mask[..., None] if acc.dtype.count > 1 else self.mask
            new = np.where(mask, new, old)
        self.values[acc] = new

    def result(self, node: Node) -> None:
        self.values[node] = self.values[acc_of(node)]

    def barrier(self, node: Node) -> None:
        for shared in self.shared.values():
            shared.writer.fill(-1)
            shared.reader.fill(-1)

    # --- memory ---

    def read(self, node: Node) -> None:
        if node.src[1].dtype is PLACE:
            self.values[node] = read_pixel(node, self.cells(node.src[0]), self.values[node.src[1]])
            return
        buffer, offset = _buffer(node.src[0]), self.offsets(node.src[1], node.dtype.count)
        valid = self.valid(node.src[2:], node.dtype.count)
        self.check(node, buffer, offset, valid)
        inside = offset if valid is None else np.where(valid, offset, 0)
        cells = self.cells(buffer)
        if buffer.op is Op.LOCAL:
            inside = self.in_group(buffer, inside, node.dtype.count)
            self.touch(node, buffer, inside, valid, is_write=False)
        value = cells[inside]
        self.values[node] = value if valid is None else np.where(valid, value, np.zeros_like(value))

    def write(self, node: Node) -> None:
        if node.src[1].dtype is PLACE:
            valid = self.valid(node.src[3:], 1)
            place, value = [self.values[child] for child in node.src[1:3]]
            write_pixel(node, self.cells(node.src[0]), place, value, valid)
            return
        buffer, value = _buffer(node.src[0]), self.values[node.src[2]]
        count = node.src[2].dtype.count
        offset, valid = self.offsets(node.src[1], count), self.valid(node.src[3:], count)
        self.check(node, buffer, offset, valid)
        if buffer.op is Op.LOCAL:
            inside = offset if valid is None else np.where(valid, offset, 0)
            offset = self.in_group(buffer, inside, count)
            self.touch(node, buffer, offset, valid, is_write=True)
        cells = self.cells(buffer)
        if valid is None:
            offset, value = np.broadcast_arrays(offset, value)
            cells[offset] = value
            return
        offset, value, valid = np.broadcast_arrays(offset, value, valid)
        cells[offset[valid]] = value[valid]

    def offsets(self, node: Node, count: int) -> Array:
        offset = self.values[node].astype(np.int64)
        return offset if count == 1 else offset[..., None] + np.arange(count)

    def valid(self, gates: tuple[Node, ...], count: int) -> Array | None:
        """Where an access happens: its gate and the open IFs hold; None for everywhere."""
        found = self.mask
        if found is not None and count > 1:
            found = found[..., None]
        for gate in gates:
            holds = self.values[gate]
            if count > 1 and gate.dtype.count == 1:
                holds = holds[..., None]
            found = holds if found is None else found & holds
        return found

    def check(self, node: Node, buffer: Node, offset: Array, valid: Array | None) -> None:
        size = self.cells(buffer).size // (self.groups if buffer.op is Op.LOCAL else 1)
        wrong = (offset < 0) | (offset >= size)
        wrong = wrong if valid is None else wrong & valid
        if np.any(wrong):
            worst = np.broadcast_to(offset, wrong.shape)[wrong][0]
            raise DeviceError(f"{node.op.name} of {_name(buffer)}: element {worst} of {size}")

    def cells(self, buffer: Node) -> Array:
        return self.memory[buffer.attr[0]] if buffer.op in ARRAYS else self.local(buffer).cells

    def local(self, buffer: Node) -> _Shared:
        """The LOCAL arrays of all groups, side by side; unwritten elements are NaN or 0x55."""
        if buffer not in self.shared:
            count = self.groups * buffer.attr[1]
            dtype = numpy_dtype(buffer.dtype)
            if buffer.dtype.is_float:
                cells = np.full(count, np.nan).astype(dtype)
            else:
                cells = np.full(count * dtype.itemsize, 0x55, np.uint8).view(dtype)
            self.shared[buffer] = _Shared(cells, np.full(count, -1), np.full(count, -1))
        return self.shared[buffer]

    def in_group(self, buffer: Node, offset: Array, count: int) -> Array:
        base = self.group * buffer.attr[1]
        return np.asarray(offset + (base if count == 1 else base[..., None]))

    def touch(
        self, node: Node, buffer: Node, cell: Array, valid: Array | None, *, is_write: bool
    ) -> None:
        """Note who accesses `cell`, and raise DeviceError for a race."""
        shared = self.local(buffer)
        count = (node.src[2] if is_write else node).dtype.count
        item = self.item if count == 1 else self.item[..., None]
        shown = np.ones((), np.bool_) if valid is None else valid
        cell, item, shown = np.broadcast_arrays(cell, item, shown)
        cell, item = cell[shown], item[shown]
        raced = _foreign(shared.writer[cell], item)
        if is_write:
            raced |= _foreign(shared.reader[cell], item)
        if np.any(raced):
            raise _race(node, buffer, cell[raced])
        noted = shared.writer if is_write else shared.reader
        several = _foreign(noted[cell], item)
        noted[cell] = item
        several |= noted[cell] != item  # in this very access
        if is_write and np.any(several):
            raise _race(node, buffer, cell[several])
        noted[cell[several]] = -2


def _foreign(noted: Array, item: Array) -> Array:
    return np.asarray((noted != -1) & (noted != item))


def _race(node: Node, buffer: Node, cells: Array) -> DeviceError:
    element = cells[0] % buffer.attr[1]
    return DeviceError(
        f"{node.op.name} of {_name(buffer)}: element {element} races with another work item"
    )


def _buffer(node: Node) -> Node:
    while node.op is Op.AFTER:
        node = node.src[0]
    return node


def _name(buffer: Node) -> str:
    return f"{'buffer ' if buffer.op in ARRAYS else 'LOCAL '}{buffer.attr[0]}"


_STEPS: dict[Op, Callable[[_Machine, Node], None]] = {
    Op.CONST: _Machine.const,
    Op.VAR: _Machine.var,
    Op.SPLAT: _Machine.splat,
    Op.STACK: _Machine.stack,
    Op.LANE: _Machine.lane,
    Op.SHUFFLE: _Machine.shuffle,
    Op.ELEMENT: _Machine.element,
    Op.WMMA: _Machine.wmma,
    Op.INIT: _Machine.assign,
    Op.SET: _Machine.assign,
    Op.RESULT: _Machine.result,
    Op.BARRIER: _Machine.barrier,
    Op.READ: _Machine.read,
    Op.WRITE: _Machine.write,
}
