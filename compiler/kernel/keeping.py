"""What a KEEP opt holds in local memory: the terms of a sum, which outputs need again.

The terms lie in their order, once for each lane of the output axes that they depend on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from compiler.ir import (
    VOID,
    AxisKind,
    Node,
    Op,
    Size,
    View,
    ViewStack,
    free_axes,
    intern,
    replace_src,
    toposort,
)
from compiler.kernel.axis import Axis
from compiler.kernel.indexing import Indexer
from compiler.kernel.kernel import Kernel, greatest, root_origin

_REDUCE = Op.REDUCE
_VIEWED = {Op.INDEX: 0, Op.LOAD: 0, Op.CONST: 1}  # op -> the place of the view in attr


@dataclass(frozen=True, slots=True)
class Kept:
    """The source of `reduce`, over the axis `term` of the AST, is `again` over the axis `place`."""

    reduce: Node
    again: Node
    term: str
    place: str
    size: int  # of either axis
    lanes: tuple[Axis, ...]  # of the other axes that the terms depend on

    @property
    def elements(self) -> int:
        return self.size * prod([greatest(axis.size) for axis in self.lanes])

    @property
    def bytes(self) -> int:
        return self.elements * self.again.dtype.itemsize

    @property
    def strides(self) -> Mapping[str, int]:
        """By lane axis: how far apart neighbours are."""
        step, found = self.size, {}
        for axis in reversed(self.lanes):
            found[axis.name] = step
            step *= greatest(axis.size)
        return found


def find_kept(kernel: Kernel, term: str) -> Kept | str:
    """What may be kept of the sum over an axis of the AST, or why nothing."""
    order = toposort(kernel.ast)
    found = [node for node in order if node.op is _REDUCE and term in node.attr[1]]
    if len(found) != 1 or found[0].attr[1] != (term,):
        return f"needs one REDUCE that closes {term} and nothing else"
    if term in {root_origin(kernel, pad.origin) for pad in kernel.pads}:
        return f"{term} is padded, use KEEP on a row as it is"
    sizes, names = dict(kernel.domain), tuple([name for name, _ in kernel.domain])
    free, size = free_axes(kernel.ast), sizes[term]
    source = found[0].src[0]
    others = free[source] - {term}
    reduced = {name for node in order if node.op is _REDUCE for name in node.attr[1]}
    if others & reduced or not isinstance(size, int):
        return f"{term} is symbolic, or its terms depend on other reduce axes"
    known = frozenset(order)
    padded = {root_origin(kernel, pad.origin) for pad in kernel.pads}
    places = [name for name in names if name not in reduced and name not in padded]
    for place in [name for name in places if sizes[name] == size]:
        again = None if place in others else _over(source, free, names, term, place)
        if again in known and again is not source:
            lanes = kernel.of_kind(AxisKind.UPCAST)
            moving = [axis for axis in lanes if root_origin(kernel, axis.origin) in others]
            return Kept(found[0], again, term, place, size, tuple(moving))
    return f"no output needs the terms of {term} again"


def kept_rows(kernel: Kernel) -> tuple[Kept, ...]:
    """What the KEEP opts of a kernel hold."""
    found = [find_kept(kernel, term) for term in kernel.kept]
    return tuple([each for each in found if isinstance(each, Kept)])


def _over(
    source: Node, free: Mapping[Node, frozenset[str]], names: Sequence[str], term: str, place: str
) -> Node | None:
    """`source` with the axis `place` for `term`."""
    at, to = names.index(term), names.index(place)
    done: dict[Node, Node] = {}
    for node in toposort(source):
        if term not in free[node]:
            done[node] = node
        elif node.op in _VIEWED:
            attr = list(node.attr)
            attr[_VIEWED[node.op]] = _moved(attr[_VIEWED[node.op]], at, to)
            done[node] = intern(node.op, node.dtype, node.src, tuple(attr))
        else:
            done[node] = replace_src(node, tuple([done[child] for child in node.src]))
    return done[source]


def _moved(stack: ViewStack, at: int, to: int) -> ViewStack:
    """The stack with two axes of one size exchanged."""
    top = stack.views[-1]
    axes = list(range(len(top.shape)))
    axes[at], axes[to] = to, at

    def exchanged(values: Sequence[Size]) -> tuple[Size, ...]:
        return tuple([values[axis] for axis in axes])

    mask = None if top.mask is None else tuple([top.mask[axis] for axis in axes])
    view = View(exchanged(top.shape), exchanged(top.strides), top.offset, mask)
    return ViewStack((*stack.views[:-1], view))


# --- nodes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowMemory:
    """Where the terms of one sum are: an array of the work item's own."""

    kept: Kept
    index: Indexer
    ranges: Mapping[str, Node]  # by loop
    indices: Mapping[str, Node]  # by axis of the AST

    def written(self, value: Node) -> Node:
        """A term, by way of local memory."""
        write = intern(Op.WRITE, VOID, (self._array, self._place(self.kept.term), value))
        return self._read(self.kept.term, write)

    def read(self, total: Node) -> Node:
        """The term that belongs to an output: they are all there when their sum is."""
        return self._read(self.kept.place, total)

    def _read(self, axis: str, after: Node) -> Node:
        array = intern(Op.AFTER, self._array.dtype, (self._array, after))
        return intern(Op.READ, array.dtype, (array, self._place(axis)))

    @property
    def _array(self) -> Node:
        kept = self.kept
        return intern(Op.LOCAL, kept.again.dtype, (), (f"kept.{kept.term}", kept.elements))

    def _place(self, axis: str) -> Node:
        lanes = [(self.ranges[name], step) for name, step in self.kept.strides.items()]
        return self.index.sum_of([(self.indices[axis], 1), *lanes])
