"""READs and WRITEs whose lanes lie some steps apart.

Where they lie side by side along another lane axis, a block of both axes moves as vectors along
that one, and is transposed in registers: 64 elements take 8 accesses and 24 shuffles.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from compiler.ir import VOID, Node, Op, intern
from compiler.passes.expand.layout import FIRST, VECTOR
from compiler.passes.expand.sums import shifted
from compiler.passes.expand.variants import Variants

_READ, _WRITE = Op.READ, Op.WRITE
_Columns = Sequence[Sequence[Node]]  # for each vector variant: the buffer, the offset, [the gate]


def strided_reads(made: Variants, node: Node) -> list[Node]:
    """A READ of lanes of the vector axis, one step apart."""
    columns = made.addresses(node, FIRST)
    found: dict[int, Node] = {}
    for places, width in _blocks(made, node, columns):
        dtype = node.dtype.vec(len(places))
        rows = [intern(_READ, dtype, row) for row in _rows(made, node, columns, places[0], width)]
        found.update(zip(places, transposed(made, rows), strict=True))
    return [found[place] for place in range(len(found))]


def strided_writes(made: Variants, node: Node) -> list[Node]:
    """Every WRITE that `node` stands for."""
    columns = made.addresses(node, FIRST)
    values = made.vectors(node.src[2], made.layout.lanes.depends[node])
    found: list[Node] = []
    for places, width in _blocks(made, node, columns):
        stored = transposed(made, [values[place] for place in places])
        rows = _rows(made, node, columns, places[0], width)
        pairs = zip(rows, stored, strict=True)
        found.extend([intern(_WRITE, VOID, (*row[:2], v, *row[2:])) for row, v in pairs])
    return found


def transposed(made: Variants, rows: Sequence[Node]) -> Sequence[Node]:
    """Vector j of lanes j, for m vectors of w lanes, both powers of two.

    One after the other they are a sequence with the bits of a row's number before those of a
    lane's. Taking its halves in turns moves the first bit to the end: after all bits of the row's
    number have moved, lanes come first.
    """
    count, width = len(rows), rows[0].dtype.count
    if width == 1:
        return [made.stack(rows)]
    if count == 1:
        return [made.lane(rows[0], lane) for lane in range(width)]
    vectors = _regrouped(made, rows, max(count, width))
    width = vectors[0].dtype.count
    turns = [half * width + lane for lane in range(width) for half in (0, 1)]
    for _ in range(count.bit_length() - 1):
        middle = len(vectors) // 2
        pairs = zip(vectors[:middle], vectors[middle:], strict=True)
        halves = (turns[:width], turns[width:])
        vectors = [made.shuffle(pair, lanes) for pair in pairs for lanes in halves]
    return _regrouped(made, vectors, count)


def _regrouped(made: Variants, vectors: Sequence[Node], width: int) -> Sequence[Node]:
    """The same lanes in vectors of `width`."""
    own = vectors[0].dtype.count
    if own > width:
        starts = range(0, own, width)
        return [made.part(vector, start, width) for vector in vectors for start in starts]
    while own < width:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [made.shuffle(pair, range(2 * own)) for pair in pairs]
        own *= 2
    return vectors


def _rows(
    made: Variants, node: Node, columns: _Columns, place: int, width: int
) -> list[tuple[Node, ...]]:
    """The sources of the access at each lane of a block whose first variant is at `place`."""
    buffer, offset, *gate = [column[place] for column in columns]
    step = made.layout.step(node)
    offsets = shifted(offset, [step * lane for lane in range(width)])
    return [(buffer, each, *gate) for each in offsets]


def _blocks(made: Variants, node: Node, columns: _Columns) -> Iterator[tuple[list[int], int]]:
    """The places of the variants of each block, and how many lanes these have.

    Neighbours along the row axis that have the same buffer and gate are one block, in pieces of a
    power of two.
    """
    layout, depends = made.layout, made.layout.lanes.depends[node]
    rows = layout.row_axis(node)
    steps = layout.steps(depends, VECTOR)
    others = [axis for axis in layout.axes(depends) if axis != rows]
    moves = [0] if rows is None else layout.places([rows], steps, VECTOR)
    widths, limit = made.widths(depends), layout.chunks[0][1]
    shared = [columns[0], *columns[2:]]
    for base in layout.places(others, steps, VECTOR):
        places = [base + move for move in moves]
        for _, group in groupby(places, lambda place: [column[place] for column in shared]):
            run = list(group)
            while run:
                size = min(limit, 1 << len(run).bit_length() - 1)
                yield run[:size], widths[base]
                run = run[size:]
