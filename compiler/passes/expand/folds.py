"""FOLDs of lanes: unrolled terms in order, and totals of their own for the lanes of a vector."""

from collections.abc import Sequence

from compiler.ir import Node, Op, intern
from compiler.passes.expand.layout import VECTOR, Form
from compiler.passes.expand.variants import Variants
from compiler.rules import combine

_FOLD = Op.FOLD


def folds(made: Variants, node: Node, form: Form) -> list[Node]:
    """The FOLD over its terms at every combination of its own lanes, first axis slowest."""
    layout, terms = made.layout, node.attr[1]
    ranges = [child for child in node.src[terms:] if child not in layout.lanes.axes]
    own = [layout.lanes.number(c) for c in node.src[terms:] if c in layout.lanes.axes]
    if layout.is_closed_by(node):
        return _closing_folds(made, node, ranges, [axis for axis in own if axis != layout.axis])
    depends = layout.lanes.depends[node]
    columns = [term_rows(made, child, depends, own, form) for child in node.src[:terms]]
    is_vector = form is VECTOR and layout.on_vector(node)
    widths = made.widths(depends) if is_vector else [1] * len(columns[0])
    found: list[Node] = []
    for index, width in enumerate(widths):
        values = [v for row in zip(*[c[index] for c in columns], strict=True) for v in row]
        full = [made.widened(v, width) for v in values] if is_vector else values
        found.append(_fold(node, full, ranges))
    return found


def _closing_folds(made: Variants, node: Node, ranges: list[Node], own: list[int]) -> list[Node]:
    """Each lane of the vector axis keeps its own total; they are folded by `_across`."""
    layout, depends = made.layout, made.layout.lanes.depends[node]
    assert layout.axis is not None
    inner = depends | 1 << layout.axis
    columns = [term_rows(made, child, inner, own, VECTOR) for child in node.src[: node.attr[1]]]
    totals: list[list[Node]] = [[] for _ in range(layout.count(depends, VECTOR))]
    owners = layout.project(inner, depends, VECTOR)
    for index, (owner, width) in enumerate(zip(owners, made.widths(inner), strict=True)):
        values = [v for row in zip(*[c[index] for c in columns], strict=True) for v in row]
        total = _fold(node, [made.widened(v, width) for v in values], ranges)
        totals[owner].append(total)
    return [_across(made, node.attr[0], vectors) for vectors in totals]


def _across(made: Variants, op: Op, vectors: Sequence[Node]) -> Node:
    """The total of all lanes, halves onto halves, of blocks as long as powers of two allow.

    7 lanes are ((0 + 2) + (1 + 3)) + (4 + 5) + 6, so the order of operations depends on their
    number alone, and not on how many of them the target's vectors hold.
    """
    total, start = None, 0
    left = sum([vector.dtype.count for vector in vectors])
    while left:
        block = 1 << left.bit_length() - 1
        end = start + block // vectors[start].dtype.count  # no vector is wider than a block
        value = _of_block(made, op, vectors[start:end])
        total = value if total is None else combine(made.builder, op, total, value)
        start, left = end, left - block
    assert total is not None, "a FOLD has lanes"
    return total


def _of_block(made: Variants, op: Op, vectors: Sequence[Node]) -> Node:
    """The total of 2**n lanes in vectors of one width."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [combine(made.builder, op, a, b) for a, b in pairs]
    total = vectors[0]
    while total.dtype.count > 1:
        half = total.dtype.count // 2
        low, high = [made.part(total, start, half) for start in (0, half)]
        total = combine(made.builder, op, low, high)
    return total


def term_rows(
    made: Variants, term: Node, depends: int, own: list[int], form: Form
) -> list[list[Node]]:
    """For each variant over `depends`, the values of `term` at each combination of `own`."""
    layout = made.layout
    variants, steps = made.of(term, form), layout.steps(layout.lanes.depends[term], form)
    bases = layout.places(layout.axes(depends), steps, form)
    moves = layout.places(own, steps, form)
    return [[variants[base + move] for move in moves] for base in bases]


def _fold(node: Node, values: list[Node], ranges: list[Node]) -> Node:
    if len(values) == 1 and not ranges:
        return values[0]
    src = (*values, *ranges)
    return intern(_FOLD, values[0].dtype, src, (node.attr[0], len(values)))
