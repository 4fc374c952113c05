"""READs and WRITEs of lanes: as vectors where lanes are neighbours, in blocks, or one by one."""

from collections.abc import Sequence

from compiler.ir import VOID, DType, Node, Op, intern
from compiler.passes.expand.blocks import strided_reads, strided_writes
from compiler.passes.expand.layout import EACH, FIRST, VECTOR
from compiler.passes.expand.variants import Variants
from compiler.rules import linear

_READ, _WRITE = Op.READ, Op.WRITE


def reads(made: Variants, node: Node) -> list[Node]:
    """A READ of lanes of the vector axis."""
    if made.layout.is_contiguous(node):
        return _reads(made, node, made.addresses(node, FIRST))
    if made.layout.is_strided(node):
        return strided_reads(made, node)
    if made.layout.is_masked(node):
        return _reads(made, node, _masked(made, node))
    return [_gather(made, node.dtype, rows) for rows in _lane_rows(made, node)]


def writes(made: Variants, node: Node) -> list[Node]:
    """Every WRITE that `node` stands for."""
    depends = made.layout.lanes.depends[node]
    if not made.layout.on_vector(node):
        values = made.column(node.src[2], depends, VECTOR)
        return _writes(made.addresses(node, VECTOR), values)
    full = made.vectors(node.src[2], depends)
    if made.layout.is_contiguous(node):
        return _writes(made.addresses(node, FIRST), full)
    if made.layout.is_strided(node):
        return strided_writes(made, node)
    if made.layout.is_masked(node):
        return _writes(_masked(made, node), full)
    found: list[Node] = []
    for value, rows in zip(full, _lane_rows(made, node), strict=True):
        found.extend(_scatter(made, value, rows))
    return found


def _masked(made: Variants, node: Node) -> list[Sequence[Node]]:
    """The buffer and the first offset of each vector, and the gates of its lanes."""
    depends = made.layout.lanes.depends[node]
    places = [made.column(child, depends, FIRST) for child in node.src[:2]]
    return [*places, made.vectors(node.src[-1], depends)]


def _lane_rows(made: Variants, node: Node) -> list[list[tuple[Node, ...]]]:
    """For each vector of an access, the address of each of its lanes."""
    rows = list(zip(*made.addresses(node, EACH), strict=True))
    found: list[list[tuple[Node, ...]]] = []
    for lanes in _lane_places(made, made.layout.lanes.depends[node]):
        found.append([rows[place] for place in lanes])
    return found


def _lane_places(made: Variants, depends: int) -> list[list[int]]:
    """For each vector variant over `depends`, the places of its lanes among the single ones."""
    layout = made.layout
    assert layout.axis is not None
    steps = layout.steps(depends, EACH)
    step = steps.pop(layout.axis)
    bases = layout.places(layout.axes(depends), steps, VECTOR)
    chunks = layout.project(depends, 1 << layout.axis, VECTOR)
    found: list[list[int]] = []
    for base, chunk in zip(bases, chunks, strict=True):
        start, width = layout.chunks[chunk]
        found.append([base + step * (start + lane) for lane in range(width)])
    return found


def _gather(made: Variants, dtype: DType, rows: list[tuple[Node, ...]]) -> Node:
    """The vector of elements at each lane's (buffer, offset, [gate])."""
    if len(rows) > 1 and _are_neighbours(rows):
        return intern(_READ, dtype.vec(len(rows)), rows[0])
    return made.stack([intern(_READ, dtype, src) for src in rows])


def _scatter(made: Variants, value: Node, rows: list[tuple[Node, ...]]) -> list[Node]:
    if len(rows) == 1 or _are_neighbours(rows):
        return [_write(rows[0], value)]
    return [_write(src, made.lane(value, lane)) for lane, src in enumerate(rows)]


def _write(address: tuple[Node, ...], value: Node) -> Node:
    return intern(_WRITE, VOID, (*address[:2], value, *address[2:]))


def _reads(made: Variants, node: Node, addresses: Sequence[Sequence[Node]]) -> list[Node]:
    widths = made.widths(made.layout.lanes.depends[node])
    pairs = zip(zip(*addresses, strict=True), widths, strict=True)
    return [intern(_READ, node.dtype.vec(width), src) for src, width in pairs]


def _writes(addresses: Sequence[Sequence[Node]], values: Sequence[Node]) -> list[Node]:
    rows = zip(zip(*addresses, strict=True), values, strict=True)
    return [_write(address, value) for address, value in rows]


def _are_neighbours(rows: list[tuple[Node, ...]]) -> bool:
    """Whether lanes that are not contiguous by their formula turn out to be, under one gate."""
    first = rows[0]
    terms, constant = linear(first[1])
    for lane, row in enumerate(rows):
        if row[0] is not first[0] or row[2:] != first[2:]:
            return False
        if linear(row[1]) != (terms, constant + lane):
            return False
    return True
