"""Where the variants of a node lie, and in which forms each node is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod

from compiler.errors import NodeLimitError
from compiler.ir import Node, Op
from compiler.passes.expand.lanes import (
    COLLECTORS,
    Lanes,
    is_contiguous,
    is_masked,
    is_strided,
    stride,
)


class Form(IntEnum):
    """How a node that depends on the vector axis is made."""

    VECTOR = 0  # a value, as vectors
    FIRST = 1  # at the first lane of each vector: offsets of contiguous accesses
    EACH = 2  # at every lane: other offsets and gates


VECTOR, FIRST, EACH = Form
_READ, _WRITE, _FOLD = Op.READ, Op.WRITE, Op.FOLD
_CHOOSING = frozenset((_READ, _WRITE, _FOLD)) | COLLECTORS


def cut(axis: int | None, lanes: Lanes, widths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(first lane, lanes) of each vector: the widest that fit, a rest of one lane is a scalar."""
    if axis is None:
        return ()
    start, size, found = 0, lanes.sizes[axis], []
    for width in (*widths, 1):
        while size - start >= width:
            found.append((start, width))
            start += width
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the variants of a node lie in its list. The last two are memos."""

    lanes: Lanes
    axis: int | None
    chunks: tuple[tuple[int, int], ...]
    has_masks: bool  # the target accesses the lanes of a vector under a gate each
    projections: dict[tuple[int, int, Form], list[int]] = field(default_factory=dict)
    widths: dict[int, list[int]] = field(default_factory=dict)  # of vectors, by what they depend on

    def on_vector(self, node: Node) -> bool:
        return self.axis is not None and bool(self.lanes.depends[node] >> self.axis & 1)

    def is_closed_by(self, fold: Node) -> bool:
        """Whether the lanes of the vector axis end in this FOLD."""
        return self.axis is not None and self.lanes.axes[self.axis] in fold.src[fold.attr[1] :]

    def is_contiguous(self, access: Node) -> bool:
        return self.axis is not None and is_contiguous(access, self.axis, self.lanes)

    def is_masked(self, access: Node) -> bool:
        has_masks = self.has_masks and self.axis is not None
        return has_masks and is_masked(access, self.axis or 0, self.lanes)

    def is_strided(self, access: Node) -> bool:
        """Whether the lanes lie some fixed steps apart, under one gate."""
        return self.axis is not None and is_strided(access, self.axis, self.lanes)

    def step(self, access: Node) -> int:
        """By how much the offset of a strided access grows from lane to lane."""
        assert self.axis is not None
        return stride(access.src[1], self.axis, self.lanes) or 0

    def row_axis(self, access: Node) -> int | None:
        """The longest other axis along which a strided access is contiguous."""
        others = [axis for axis in range(len(self.lanes.axes)) if axis != self.axis]
        along = [axis for axis in others if stride(access.src[1], axis, self.lanes) == 1]
        return max(along, key=lambda axis: self.lanes.sizes[axis], default=None)

    def size(self, axis: int, form: Form) -> int:
        return len(self.numbers(axis, form))

    def numbers(self, axis: int, form: Form) -> Sequence[int]:
        """The lanes along an axis that variants begin at."""
        if axis == self.axis and form is not EACH:
            return [start for start, _ in self.chunks]
        return range(self.lanes.sizes[axis])

    def axes(self, depends: int) -> list[int]:
        return [axis for axis in range(len(self.lanes.axes)) if depends >> axis & 1]

    def count(self, depends: int, form: Form) -> int:
        return prod([self.size(axis, form) for axis in self.axes(depends)])

    def steps(self, depends: int, form: Form) -> dict[int, int]:
        """How far apart two variants are that differ by one along an axis."""
        step, found = 1, {}
        for axis in reversed(self.axes(depends)):
            found[axis] = step
            step *= self.size(axis, form)
        return found

    def project(self, depends: int, onto: int, form: Form) -> list[int]:
        """For each variant over `depends` the place of the matching variant over `onto`."""
        key = (depends, onto, form)
        found = self.projections.get(key)
        if found is None:
            steps = self.steps(onto, form)
            found = self.places(self.axes(depends), steps, form)
            self.projections[key] = found
        return found

    def places(self, axes: Sequence[int], steps: Mapping[int, int], form: Form) -> list[int]:
        """The place of each combination of `axes`, first axis slowest, in a list with `steps`."""
        found = [0]
        for axis in axes:
            step = steps.get(axis, 0)
            moves = [step * index for index in range(self.size(axis, form))]
            found = [place + move for place in found for move in moves]
        return found


# --- which forms are needed -----------------------------------------------------------------------


_ALL = (VECTOR, FIRST, EACH)
_WANTED = [tuple([form for form in _ALL if bits >> form & 1]) for bits in range(8)]


def needed_forms(order: Sequence[Node], layout: Layout) -> dict[Node, tuple[Form, ...]]:
    """For each node that depends on the vector axis, the forms its users read."""
    if layout.axis is None:
        return {}
    bit, depends = 1 << layout.axis, layout.lanes.depends
    needed = {node: 0 for node in order if depends[node] & bit}  # bit sets over Form
    for node in reversed(order):
        wanted = needed.get(node, 1 << VECTOR)
        if node.op in _CHOOSING:
            for child, forms in _demands(node, wanted, layout):
                if child in needed:
                    needed[child] |= forms
            continue
        for child in node.src:
            if child in needed:
                needed[child] |= wanted
    return {node: _WANTED[wanted] for node, wanted in needed.items()}


def _demands(node: Node, wanted: int, layout: Layout) -> list[tuple[Node, int]]:
    """The forms that a node which does not pass on its own needs of its sources."""
    if node.op is _WRITE:
        return [(node.src[2], 1 << VECTOR), *_address(node, layout)]
    if node.op is _READ:
        found = _address(node, layout) if wanted & 1 << VECTOR else []
        scalar = wanted & ~(1 << VECTOR)
        return [*found, *[(child, scalar) for child in node.src[1:]]]
    if node.op is Op.ELEMENT:
        return []  # its ranges count lanes of a vector that does not depend on them
    if node.op in COLLECTORS or (node.op is _FOLD and layout.is_closed_by(node)):
        wanted = 1 << VECTOR
    return [(child, wanted) for child in node.src]


def _address(access: Node, layout: Layout) -> list[tuple[Node, int]]:
    """What a READ or WRITE of vectors needs of its offset and gate."""
    if layout.is_contiguous(access) or layout.is_strided(access):
        return [(access.src[1], 1 << FIRST)]
    if layout.is_masked(access):
        return [(access.src[1], 1 << FIRST), (access.src[-1], 1 << VECTOR)]
    gate = access.src[2 if access.op is _READ else 3 :]
    return [(child, 1 << EACH) for child in (access.src[1], *gate)]


def check_size(
    order: Sequence[Node], forms: Mapping[Node, tuple[Form, ...]], layout: Layout, limit: int
) -> None:
    """Raise before the work is done, where the result would be far too large."""
    total, depends = 0, layout.lanes.depends
    counts: dict[tuple[int, Form], int] = {}
    for node in order:
        lanes = depends[node]
        for form in forms.get(node, (VECTOR,)):
            key = (lanes, form)
            found = counts.get(key)
            if found is None:
                found = counts[key] = layout.count(lanes, form)
            total += found
    if total > limit:
        limited = f"{total} nodes, the limit is {limit} before simplification"
        raise NodeLimitError(limited, by_lanes=True)
