"""FRAGMENT and ELEMENT: scalars of lanes into the operands of a core, and out of its results."""

from collections.abc import Sequence

from compiler.ir import Node, Op, intern
from compiler.passes.expand.folds import term_rows
from compiler.passes.expand.layout import EACH, FIRST, VECTOR, Form
from compiler.passes.expand.variants import Variants
from compiler.rules import linear


def fragments(made: Variants, node: Node) -> list[Node]:
    """One vector for each combination of the lanes that are not its elements."""
    lanes = made.layout.lanes
    own = [lanes.number(axis) for axis in node.src[1:]]
    rows = term_rows(made, node.src[0], lanes.depends[node], own, VECTOR)
    return [_gathered(made, row) for row in rows]


def _gathered(made: Variants, values: Sequence[Node]) -> Node:
    """The vector of `values`, read as vectors where some are neighbours in memory."""
    places = _places(values)
    if places is None:
        return made.stack(values)
    runs = _runs(places)
    if runs == [places]:  # each once: an operand may repeat along an axis of its fragment
        return _read(values[0], len(values))
    found: dict[int, Node] = {}
    for run in runs:
        vector = _read(values[places.index(run[0])], len(run))
        found.update({place: made.lane(vector, lane) for lane, place in enumerate(run)})
    return made.stack([found[place] for place in places])


def _places(values: Sequence[Node]) -> list[int] | None:
    """The offset of each READ relative to what all have in common; None where they have nothing."""
    if any(value.op is not Op.READ for value in values):
        return None
    found: list[int] = []
    first = values[0]
    terms, _ = linear(first.src[1])
    for value in values:
        own, place = linear(value.src[1])
        if own != terms or value.src[0] is not first.src[0] or value.src[2:] != first.src[2:]:
            return None
        found.append(place)
    return found


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Neighbouring places, each once, in runs whose lengths are powers of two."""
    runs: list[list[int]] = []
    for place in sorted(dict.fromkeys(places)):
        if runs and runs[-1][-1] + 1 == place:
            runs[-1].append(place)
        else:
            runs.append([place])
    cut: list[list[int]] = []
    for run in runs:
        while run:
            width = 1 << len(run).bit_length() - 1
            cut.append(run[:width])
            run = run[width:]
    return cut


def _read(first: Node, count: int) -> Node:
    return intern(Op.READ, first.dtype.vec(count), first.src)


def elements(made: Variants, node: Node, form: Form) -> list[Node]:
    """The elements of vectors that ranges choose, as lanes or as vectors of them."""
    layout, depends = made.layout, made.layout.lanes.depends[node]
    steps = _steps(made, node)
    vectors = made.column(node.src[0], depends, form)
    if form is EACH or not layout.on_vector(node):
        places = layout.places(layout.axes(depends), steps, form)
        return [made.lane(v, place) for v, place in zip(vectors, places, strict=True)]
    assert layout.axis is not None, "a node on the vector axis"
    step = steps.pop(layout.axis)
    bases = layout.places(layout.axes(depends), steps, VECTOR)
    chunks = layout.project(depends, 1 << layout.axis, VECTOR)
    found: list[Node] = []
    for vector, base, chunk in zip(vectors, bases, chunks, strict=True):
        start, width = layout.chunks[chunk]
        lanes = range(start, start + (1 if form is FIRST else width))
        found.append(made.stack([made.lane(vector, base + step * lane) for lane in lanes]))
    return found


def _steps(made: Variants, node: Node) -> dict[int, int]:
    """How far apart in the vector neighbours along each range are."""
    lanes, step, found = made.layout.lanes, 1, dict[int, int]()
    for axis in reversed(node.src[1:]):
        number = lanes.number(axis)
        found[number] = step
        step *= lanes.sizes[number]
    return found
