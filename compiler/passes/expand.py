"""UPCAST and UNROLL ranges become lanes: one axis as vectors, the others as separate nodes.

Every node is made once for each combination of the lanes it depends on. Along the vector axis it is
made in up to three forms: as vectors (values), at the first lane of each vector (offsets of
contiguous accesses) and at every lane (other offsets and gates).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod

from compiler.errors import RewriteError
from compiler.ir import VOID, DType, Node, Op, const, intern, toposort
from compiler.passes.context import Context
from compiler.passes.lanes import Lanes, choose_vector_axis, find_lanes, is_contiguous
from compiler.rules import Builder, linear


class _Form(IntEnum):
    """How a node that depends on the vector axis is made."""

    VECTOR = 0
    FIRST = 1
    EACH = 2


_VECTOR, _FIRST, _EACH = _Form
_RANGE, _READ, _WRITE, _FOLD = Op.RANGE, Op.READ, Op.WRITE, Op.FOLD
_SINK, _BARRIER, _AFTER = Op.SINK, Op.BARRIER, Op.AFTER
_Table = dict[Node, list[Node]]  # a node's variants, the last axis it depends on varying fastest


def expand(root: Node, context: Context) -> Node:
    """The graph without UPCAST and UNROLL ranges. The order of additions depends on it alone."""
    order = context.order(root)
    lanes = find_lanes(order)
    if not lanes.axes:
        return root
    axis = choose_vector_axis(order, lanes, context.builder)
    layout = _Layout(lanes, axis, _chunks(axis, lanes, context), {})
    forms = _needed_forms(order, layout)
    limit = context.options.schedule.max_nodes
    _check_size(order, forms, layout, 4 * limit)
    expansion = _Expansion(context.builder, layout, ({}, {}, {}))
    made = sum([expansion.make(node, forms.get(node, (_VECTOR,))) for node in order])
    result = expansion.tables[_VECTOR][root][0]
    if made > limit and len(toposort(result)) > limit:
        raise _too_large(len(toposort(result)), limit, lanes)
    return result


def _chunks(axis: int | None, lanes: Lanes, context: Context) -> tuple[tuple[int, int], ...]:
    """(first lane, lanes) of each vector: the widest that fit, a rest of one lane is a scalar."""
    if axis is None:
        return ()
    start, size, found = 0, lanes.sizes[axis], []
    for width in (*context.target.capabilities.vector_widths, 1):
        while size - start >= width:
            found.append((start, width))
            start += width
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the variants of a node lie in its list. `projections` is a memo."""

    lanes: Lanes
    axis: int | None
    chunks: tuple[tuple[int, int], ...]
    projections: dict[tuple[int, int, _Form], list[int]]

    def on_vector(self, node: Node) -> bool:
        return self.axis is not None and bool(self.lanes.depends[node] >> self.axis & 1)

    def is_closed_by(self, fold: Node) -> bool:
        """Whether the lanes of the vector axis end in this FOLD."""
        return self.axis is not None and self.lanes.axes[self.axis] in fold.src[fold.attr[1] :]

    def is_contiguous(self, access: Node) -> bool:
        return self.axis is not None and is_contiguous(access, self.axis, self.lanes)

    def size(self, axis: int, form: _Form) -> int:
        if axis == self.axis and form is not _EACH:
            return len(self.chunks)
        return self.lanes.sizes[axis]

    def axes(self, depends: int) -> list[int]:
        return [axis for axis in range(len(self.lanes.axes)) if depends >> axis & 1]

    def count(self, depends: int, form: _Form) -> int:
        return prod([self.size(axis, form) for axis in self.axes(depends)])

    def steps(self, depends: int, form: _Form) -> dict[int, int]:
        """How far apart two variants are that differ by one along an axis."""
        step, found = 1, {}
        for axis in reversed(self.axes(depends)):
            found[axis] = step
            step *= self.size(axis, form)
        return found

    def project(self, depends: int, onto: int, form: _Form) -> list[int]:
        """For each variant over `depends` the place of the matching variant over `onto`."""
        key = (depends, onto, form)
        found = self.projections.get(key)
        if found is None:
            steps = self.steps(onto, form)
            found = self.places(self.axes(depends), steps, form)
            self.projections[key] = found
        return found

    def places(self, axes: Sequence[int], steps: Mapping[int, int], form: _Form) -> list[int]:
        """The place of each combination of `axes`, first axis slowest, in a list with `steps`."""
        found = [0]
        for axis in axes:
            step = steps.get(axis, 0)
            moves = [step * index for index in range(self.size(axis, form))]
            found = [place + move for place in found for move in moves]
        return found


# --- which forms are needed -----------------------------------------------------------------------


def _needed_forms(order: Sequence[Node], layout: _Layout) -> dict[Node, tuple[_Form, ...]]:
    """For each node that depends on the vector axis, the forms its users read."""
    needed = {node: [False, False, False] for node in order if layout.on_vector(node)}
    for node in reversed(order):
        wanted = needed.get(node, (True, False, False))
        forms = [form for form in _Form if wanted[form]]
        for child, form in _demands(node, forms, layout):
            if child in needed:
                needed[child][form] = True
    return {node: tuple([f for f in _Form if wanted[f]]) for node, wanted in needed.items()}


def _demands(node: Node, forms: list[_Form], layout: _Layout) -> list[tuple[Node, _Form]]:
    if node.op is _WRITE:
        return [(node.src[2], _VECTOR), *_address(node, layout)]
    if node.op is _READ:
        found = _address(node, layout) if _VECTOR in forms else []
        scalar = [form for form in forms if form is not _VECTOR]
        return [*found, *[(child, form) for child in node.src[1:] for form in scalar]]
    if node.op is _BARRIER or (node.op is _FOLD and layout.is_closed_by(node)):
        forms = [_VECTOR]
    return [(child, form) for child in node.src for form in forms]


def _address(access: Node, layout: _Layout) -> list[tuple[Node, _Form]]:
    """What a READ or WRITE of vectors needs of its offset and gate."""
    if layout.is_contiguous(access):
        return [(access.src[1], _FIRST)]
    gate = access.src[2 if access.op is _READ else 3 :]
    return [(child, _EACH) for child in (access.src[1], *gate)]


def _check_size(
    order: Sequence[Node], forms: Mapping[Node, tuple[_Form, ...]], layout: _Layout, limit: int
) -> None:
    """Raise before the work is done, where the result would be far too large."""
    total = 0
    for node in order:
        depends = layout.lanes.depends[node]
        for form in forms.get(node, (_VECTOR,)):
            total += layout.count(depends, form) if depends else 1
    if total > limit:
        raise _too_large(total, limit, layout.lanes)


def _too_large(count: int, limit: int, lanes: Lanes) -> RewriteError:
    sizes = sorted(zip(lanes.sizes, lanes.axes, strict=True), key=lambda pair: -pair[0])
    opts = ", ".join([f"{axis.attr[1].name} {axis.attr[0]} {size}" for size, axis in sizes[:3]])
    return RewriteError(
        f"{count} nodes, the limit is {limit}: the largest lanes are {opts}; use smaller amounts"
    )


# --- making the variants --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Expansion:
    """`tables[form]` holds the variants made so far; without the vector axis all forms are one."""

    builder: Builder
    layout: _Layout
    tables: tuple[_Table, _Table, _Table]

    def make(self, node: Node, forms: tuple[_Form, ...]) -> int:
        """Make the wanted forms of `node`, whose sources are made; how many variants that were."""
        count = 0
        for form in forms:
            made = self.variants(node, form)
            count += len(made)
            self.tables[form][node] = made
            if not self.layout.on_vector(node):
                self.tables[_FIRST][node] = self.tables[_EACH][node] = made
        return count

    def variants(self, node: Node, form: _Form) -> list[Node]:
        op = node.op
        if op is _RANGE and node in self.layout.lanes.axes:
            return self.lane_indices(node, form)
        if op is _WRITE:
            return self.writes(node)
        if op is _SINK or op is _BARRIER:
            table = self.tables[_VECTOR]
            every = [made for child in node.src for made in table[child]]
            return [intern(op, node.dtype, tuple(every), node.attr)]
        if op is _FOLD:
            return self.folds(node, form)
        if op is _READ and form is _VECTOR and self.layout.on_vector(node):
            return self.vector_reads(node)
        return self.plain(node, form)

    def plain(self, node: Node, form: _Form) -> list[Node]:
        """The op, once for each combination of lanes."""
        depends = self.layout.lanes.depends[node]
        if not depends:
            table = self.tables[_VECTOR]
            src = tuple([table[child][0] for child in node.src])
            same = src == node.src
            return [node if same else self.builder.build(node.op, node.dtype, src, node.attr)]
        build, op, attr, dtype = self.builder.build, node.op, node.attr, node.dtype
        columns = [self.column(child, depends, form) for child in node.src]
        rows = list(zip(*columns, strict=True))
        if form is not _VECTOR or not self.layout.on_vector(node):
            return [build(op, dtype, src, attr) for src in rows]
        widths = self.widths(depends)
        found: list[Node] = []
        for src, width in zip(rows, widths, strict=True):
            full = tuple([self.widened(child, width) for child in src])
            found.append(build(op, dtype.vec(width), full, attr))
        return found

    def column(self, child: Node, depends: int, form: _Form) -> list[Node]:
        """The variant of `child` that belongs to each variant over `depends`."""
        made = self.tables[form][child]
        own = self.layout.lanes.depends[child]
        if own == depends:
            return made
        return [made[place] for place in self.layout.project(depends, own, form)]

    def widths(self, depends: int) -> list[int]:
        """The number of lanes of each vector variant over `depends`."""
        assert self.layout.axis is not None
        places = self.layout.project(depends, 1 << self.layout.axis, _VECTOR)
        return [self.layout.chunks[place][1] for place in places]

    def widened(self, value: Node, width: int) -> Node:
        """A value of `width` lanes: as it is, or the same in all of them."""
        if value.dtype.count == width or value.dtype is VOID or value.op in _BUFFERS:
            return value
        return self.builder.build(Op.SPLAT, value.dtype.vec(width), (value,))

    def lane_indices(self, axis: Node, form: _Form) -> list[Node]:
        number = self.layout.lanes.number(axis)
        if number != self.layout.axis or form is _EACH:
            return [const(axis.dtype, lane) for lane in range(self.layout.lanes.sizes[number])]
        if form is _FIRST:
            return [const(axis.dtype, start) for start, _ in self.layout.chunks]
        return [self.stack(_indices(axis.dtype, *chunk)) for chunk in self.layout.chunks]

    def stack(self, scalars: Sequence[Node]) -> Node:
        if len(scalars) == 1:
            return scalars[0]
        return self.builder.build(Op.STACK, scalars[0].dtype.vec(len(scalars)), tuple(scalars))

    # memory

    def vector_reads(self, node: Node) -> list[Node]:
        depends = self.layout.lanes.depends[node]
        buffers = self.column(node.src[0], depends, _VECTOR)
        if self.layout.is_contiguous(node):
            columns = [self.column(child, depends, _FIRST) for child in node.src[1:]]
            rows = zip(buffers, *columns, strict=True)
            pairs = zip(rows, self.widths(depends), strict=True)
            return [intern(_READ, node.dtype.vec(width), src) for src, width in pairs]
        return [self.gather(node.dtype, rows) for rows in self.lane_rows(node.src, depends)]

    def lane_rows(self, src: tuple[Node, ...], depends: int) -> list[list[tuple[Node, ...]]]:
        """For each vector variant over `depends`, the sources of each of its lanes."""
        columns = [self.column(child, depends, _EACH) for child in src]
        rows = list(zip(*columns, strict=True))
        found: list[list[tuple[Node, ...]]] = []
        for lanes in self.lane_places(depends):
            found.append([rows[place] for place in lanes])
        return found

    def lane_places(self, depends: int) -> list[list[int]]:
        """For each vector variant over `depends`, the places of its lanes among the single ones."""
        layout = self.layout
        assert layout.axis is not None
        steps = layout.steps(depends, _EACH)
        step = steps.pop(layout.axis)
        bases = layout.places(layout.axes(depends), steps, _VECTOR)
        chunks = layout.project(depends, 1 << layout.axis, _VECTOR)
        found: list[list[int]] = []
        for base, chunk in zip(bases, chunks, strict=True):
            start, width = layout.chunks[chunk]
            found.append([base + step * (start + lane) for lane in range(width)])
        return found

    def gather(self, dtype: DType, rows: list[tuple[Node, ...]]) -> Node:
        """The vector of elements at each lane's (buffer, offset, [gate])."""
        if len(rows) > 1 and _are_neighbours(rows, 2):
            return intern(_READ, dtype.vec(len(rows)), rows[0])
        return self.stack([intern(_READ, dtype, src) for src in rows])

    def writes(self, node: Node) -> list[Node]:
        depends = self.layout.lanes.depends[node]
        values = self.column(node.src[2], depends, _VECTOR)
        addresses = (*node.src[:2], *node.src[3:])
        if not self.layout.on_vector(node):
            columns = [self.column(child, depends, _VECTOR) for child in addresses]
            return _writes(columns, values)
        full = [self.widened(v, w) for v, w in zip(values, self.widths(depends), strict=True)]
        if self.layout.is_contiguous(node):
            columns = [self.column(child, depends, _FIRST) for child in addresses]
            return _writes(columns, full)
        found: list[Node] = []
        for value, rows in zip(full, self.lane_rows(addresses, depends), strict=True):
            found.extend(self.scatter(value, rows))
        return found

    def scatter(self, value: Node, rows: list[tuple[Node, ...]]) -> list[Node]:
        if len(rows) == 1 or _are_neighbours(rows, 2):
            return [_write(rows[0], value)]
        return [_write(src, self.lane(value, lane)) for lane, src in enumerate(rows)]

    def lane(self, vector: Node, lane: int) -> Node:
        if vector.dtype.count == 1:
            return vector
        return self.builder.build(Op.LANE, vector.dtype.scalar, (vector,), (lane,))

    # folds

    def folds(self, node: Node, form: _Form) -> list[Node]:
        """The FOLD over its terms at every combination of its own lanes, first axis slowest."""
        layout, terms = self.layout, node.attr[1]
        ranges = [child for child in node.src[terms:] if child not in layout.lanes.axes]
        own = [layout.lanes.number(c) for c in node.src[terms:] if c in layout.lanes.axes]
        if layout.is_closed_by(node):
            return self.closing_folds(node, ranges, [axis for axis in own if axis != layout.axis])
        depends = layout.lanes.depends[node]
        columns = [self.term_rows(child, depends, own, form) for child in node.src[:terms]]
        is_vector = form is _VECTOR and layout.on_vector(node)
        widths = self.widths(depends) if is_vector else [1] * len(columns[0])
        found: list[Node] = []
        for index, width in enumerate(widths):
            values = [v for row in zip(*[c[index] for c in columns], strict=True) for v in row]
            found.append(self.fold(node, [self.widened(v, width) for v in values], ranges))
        return found

    def closing_folds(self, node: Node, ranges: list[Node], own: list[int]) -> list[Node]:
        """Each lane of the vector axis keeps its own total; they are folded in order of lanes.

        So the order of operations does not depend on how many lanes the target's vectors have.
        """
        layout, depends = self.layout, self.layout.lanes.depends[node]
        assert layout.axis is not None
        inner = depends | 1 << layout.axis
        columns = [self.term_rows(child, inner, own, _VECTOR) for child in node.src[: node.attr[1]]]
        totals: list[list[Node]] = [[] for _ in range(layout.count(depends, _VECTOR))]
        owners = layout.project(inner, depends, _VECTOR)
        for index, (owner, width) in enumerate(zip(owners, self.widths(inner), strict=True)):
            values = [v for row in zip(*[c[index] for c in columns], strict=True) for v in row]
            total = self.fold(node, [self.widened(v, width) for v in values], ranges)
            totals[owner].extend([self.lane(total, lane) for lane in range(width)])
        return [self.fold(node, lanes, []) for lanes in totals]

    def term_rows(self, term: Node, depends: int, own: list[int], form: _Form) -> list[list[Node]]:
        """For each variant over `depends`, the values of `term` at each combination of `own`."""
        layout = self.layout
        made, steps = self.tables[form][term], layout.steps(layout.lanes.depends[term], form)
        bases = layout.places(layout.axes(depends), steps, form)
        moves = layout.places(own, steps, form)
        return [[made[base + move] for move in moves] for base in bases]

    def fold(self, node: Node, values: list[Node], ranges: list[Node]) -> Node:
        if len(values) == 1 and not ranges:
            return values[0]
        src = (*values, *ranges)
        return intern(_FOLD, values[0].dtype, src, (node.attr[0], len(values)))


_BUFFERS = frozenset((Op.BUFFER, Op.LOCAL, Op.AFTER))


def _write(address: tuple[Node, ...], value: Node) -> Node:
    return intern(_WRITE, VOID, (*address[:2], value, *address[2:]))


def _writes(addresses: list[list[Node]], values: list[Node]) -> list[Node]:
    rows = zip(zip(*addresses, strict=True), values, strict=True)
    return [_write(address, value) for address, value in rows]


def _indices(dtype: DType, start: int, width: int) -> list[Node]:
    return [const(dtype, start + lane) for lane in range(width)]


def _are_neighbours(rows: list[tuple[Node, ...]], offset_end: int) -> bool:
    """Whether lanes that are not contiguous by their formula turn out to be, under one gate."""
    first = rows[0]
    terms, constant = linear(first[1])
    for lane, row in enumerate(rows):
        if row[0] is not first[0] or row[offset_end:] != first[offset_end:]:
            return False
        if linear(row[1]) != (terms, constant + lane):
            return False
    return True
