"""UPCAST and UNROLL ranges become lanes: one axis as vectors, the others as separate nodes.

Every node is made once for each combination of the lanes it depends on; see layout.Form for what
becomes of the axis that is a vector.
"""

from compiler.ir import DType, Node, Op, const, intern
from compiler.passes.context import Context
from compiler.passes.expand.folds import folds
from compiler.passes.expand.fragments import elements, fragments
from compiler.passes.expand.join import join_lanes
from compiler.passes.expand.lanes import COLLECTORS, choose_vector_axis, find_lanes
from compiler.passes.expand.layout import (
    EACH,
    FIRST,
    VECTOR,
    Form,
    Layout,
    check_size,
    cut,
    needed_forms,
)
from compiler.passes.expand.memory import reads, writes
from compiler.passes.expand.sums import find_sums
from compiler.passes.expand.variants import Variants

_RANGE, _READ, _WRITE, _FOLD = Op.RANGE, Op.READ, Op.WRITE, Op.FOLD
_FRAGMENT, _ELEMENT = Op.FRAGMENT, Op.ELEMENT


def expand(root: Node, context: Context) -> Node:
    """The graph without UPCAST and UNROLL ranges. The order of additions depends on it alone."""
    order = context.order(root)
    lanes = find_lanes(order)
    if not lanes.axes:
        return root
    axis = choose_vector_axis(order, lanes, context.builder)
    joined = join_lanes(order, lanes, axis)
    if joined:
        return expand(context.builder.rebuild(root, joined), context)
    chunks = cut(axis, lanes, context.target.capabilities.vector_widths)
    layout = Layout(lanes, axis, chunks, context.target.capabilities.bool_vectors)
    forms = needed_forms(order, layout)
    check_size(order, forms, layout, 4 * context.options.schedule.max_nodes)
    sums = find_sums(order, lanes)
    first = {lane: const(lane.dtype, 0) for lane in lanes.axes}
    made = Variants(context.builder, layout, ({}, {}, {}), sums, first)
    depends, untouched = lanes.depends, made.tables[VECTOR].keys().isdisjoint
    for node in order:
        if depends[node] or not untouched(node.src):
            wanted = forms.get(node, (VECTOR,))
            if node in sums:
                made.begin_sum(node)
                wanted = (VECTOR,) if VECTOR in wanted and layout.on_vector(node) else ()
            for form in wanted:
                made.keep(node, form, _variants(made, node, form))
    return made.of(root, VECTOR)[0]


def _variants(made: Variants, node: Node, form: Form) -> list[Node]:
    op = node.op
    if op is _RANGE and node in made.layout.lanes.axes:
        return _lane_indices(made, node, form)
    if op is _WRITE:
        return writes(made, node)
    if op in COLLECTORS:
        every = [variant for child in node.src for variant in made.of(child, VECTOR)]
        return [intern(op, node.dtype, tuple(every), node.attr)]
    if op is _FOLD:
        return folds(made, node, form)
    if op is _FRAGMENT:
        return fragments(made, node)
    if op is _ELEMENT:
        return elements(made, node, form)
    if op is _READ and form is VECTOR and made.layout.on_vector(node):
        return reads(made, node)
    return _plain(made, node, form)


def _plain(made: Variants, node: Node, form: Form) -> list[Node]:
    """The op, once for each combination of lanes."""
    build, op, attr, dtype = made.builder.build, node.op, node.attr, node.dtype
    depends = made.layout.lanes.depends[node]
    if form is VECTOR and made.layout.on_vector(node):
        vectors = zip(*[made.vectors(child, depends) for child in node.src], strict=True)
        dtypes = [dtype.vec(width) for width in made.widths(depends)]
        return [build(op, wide, src, attr) for wide, src in zip(dtypes, vectors, strict=True)]
    columns = [made.column(child, depends, form) for child in node.src]
    return [build(op, dtype, src, attr) for src in zip(*columns, strict=True)]


def _lane_indices(made: Variants, axis: Node, form: Form) -> list[Node]:
    number = made.layout.lanes.number(axis)
    if number != made.layout.axis or form is EACH:
        return [const(axis.dtype, lane) for lane in range(made.layout.lanes.sizes[number])]
    if form is FIRST:
        return [const(axis.dtype, start) for start, _ in made.layout.chunks]
    return [made.stack(_indices(axis.dtype, *chunk)) for chunk in made.layout.chunks]


def _indices(dtype: DType, start: int, width: int) -> list[Node]:
    return [const(dtype, start + lane) for lane in range(width)]


__all__ = ["expand"]
