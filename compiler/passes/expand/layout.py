"""Where the variants of a node lie, and in which forms each node is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod

from compiler.ir import Node, Op
from compiler.passes.expand.lanes import COLLECTORS, Lanes, is_contiguous, is_masked, too_large


class Form(IntEnum):
    """How a node that depends on the vector axis is made."""

    VECTOR = 0  # a value, as vectors
    FIRST = 1  # at the first lane of each vector: offsets of contiguous accesses
    EACH = 2  # at every lane: other offsets and gates


VECTOR, FIRST, EACH = Form
_READ, _WRITE, _FOLD = Op.READ, Op.WRITE, Op.FOLD


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
    """Where the variants of a node lie in its list. `projections` is a memo."""

    lanes: Lanes
    axis: int | None
    chunks: tuple[tuple[int, int], ...]
    has_masks: bool  # the target accesses the lanes of a vector under a gate each
    projections: dict[tuple[int, int, Form], list[int]]

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

    def size(self, axis: int, form: Form) -> int:
        if axis == self.axis and form is not EACH:
            return len(self.chunks)
        return self.lanes.sizes[axis]

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


def needed_forms(order: Sequence[Node], layout: Layout) -> dict[Node, tuple[Form, ...]]:
    """For each node that depends on the vector axis, the forms its users read."""
    needed = {node: [False, False, False] for node in order if layout.on_vector(node)}
    for node in reversed(order):
        wanted = needed.get(node, (True, False, False))
        forms = [form for form in Form if wanted[form]]
        for child, form in _demands(node, forms, layout):
            if child in needed:
                needed[child][form] = True
    return {node: tuple([f for f in Form if wanted[f]]) for node, wanted in needed.items()}


def _demands(node: Node, forms: list[Form], layout: Layout) -> list[tuple[Node, Form]]:
    if node.op is _WRITE:
        return [(node.src[2], VECTOR), *_address(node, layout)]
    if node.op is _READ:
        found = _address(node, layout) if VECTOR in forms else []
        scalar = [form for form in forms if form is not VECTOR]
        return [*found, *[(child, form) for child in node.src[1:] for form in scalar]]
    if node.op in COLLECTORS or (node.op is _FOLD and layout.is_closed_by(node)):
        forms = [VECTOR]
    return [(child, form) for child in node.src for form in forms]


def _address(access: Node, layout: Layout) -> list[tuple[Node, Form]]:
    """What a READ or WRITE of vectors needs of its offset and gate."""
    if layout.is_contiguous(access):
        return [(access.src[1], FIRST)]
    if layout.is_masked(access):
        return [(access.src[1], FIRST), (access.src[-1], VECTOR)]
    gate = access.src[2 if access.op is _READ else 3 :]
    return [(child, EACH) for child in (access.src[1], *gate)]


def check_size(
    order: Sequence[Node], forms: Mapping[Node, tuple[Form, ...]], layout: Layout, limit: int
) -> None:
    """Raise before the work is done, where the result would be far too large."""
    total = 0
    for node in order:
        depends = layout.lanes.depends[node]
        for form in forms.get(node, (VECTOR,)):
            total += layout.count(depends, form) if depends else 1
    if total > limit:
        raise too_large(total, limit, layout.lanes.axes)
