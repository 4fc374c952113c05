"""How each access of a kernel walks memory along the axes of the AST: what choices are based on."""

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.ir import (
    INT32,
    INT64,
    AxisKind,
    Node,
    Op,
    Size,
    depends_on,
    free_axes,
    intern,
    toposort,
)
from compiler.kernel.axis import Axis
from compiler.kernel.indexing import Indexer, index_dtype
from compiler.kernel.kernel import Kernel, root_origin
from compiler.rules import Builder, linear

_LOAD, _STORE, _RANGE, _GATHER, _INDEX = Op.LOAD, Op.STORE, Op.RANGE, Op.GATHER, Op.INDEX
_CAST, _MUL, _SUB, _ADD = Op.CAST, Op.MUL, Op.SUB, Op.ADD
_IDIV, _MOD = Op.IDIV, Op.MOD


@dataclass(frozen=True, slots=True)
class Access:
    """One LOAD, GATHER or STORE, its strides in elements by axis of the AST.

    None is not a fixed number.
    """

    node: Node
    strides: Mapping[str, int | None]
    masked: tuple[str, ...]  # axes that decide whether the access is valid

    @property
    def is_store(self) -> bool:
        return self.node.op is _STORE

    def stride(self, kernel: Kernel, axis: Axis) -> int | None:
        """By how much the offset grows with each iteration of a loop of `kernel`."""
        whole = self.strides[root_origin(kernel, axis.origin)]
        return None if whole is None else whole * axis.step


def accesses(kernel: Kernel) -> tuple[Access, ...]:
    """Every LOAD, GATHER and STORE of the AST, sources first."""
    order = toposort(kernel.ast)
    nodes = [node for node in order if node.op is _LOAD or node.op is _STORE]
    computed = _computed(kernel, order)
    if all(len(node.attr[0].views) == 1 for node in nodes):
        return (*[_plain(kernel, node) for node in nodes], *computed)
    indexer = Indexer(Builder(), index_dtype(kernel, order))  # scratch: these are not compiled
    indices = _make_indices(kernel, indexer)
    found = [
        _plain(kernel, node) if len(node.attr[0].views) == 1 else _stacked(node, indexer, indices)
        for node in nodes
    ]
    return (*found, *computed)


def _plain(kernel: Kernel, node: Node) -> Access:
    view = node.attr[0].views[-1]
    names = [name for name, _ in kernel.domain]
    strides = {name: _fixed(stride) for name, stride in zip(names, view.strides, strict=True)}
    bounds = zip(names, view.shape, view.bounds, strict=True)
    return Access(node, strides, tuple([n for n, size, valid in bounds if valid != (0, size)]))


def _fixed(stride: Size) -> int | None:
    return stride if isinstance(stride, int) else None


def _make_indices(kernel: Kernel, indexer: Indexer) -> dict[str, Node]:
    return {
        name: intern(_RANGE, indexer.dtype, (indexer.size(size),), (name, AxisKind.GLOBAL))
        for name, size in kernel.domain
    }


def _stacked(node: Node, indexer: Indexer, indices: Mapping[str, Node]) -> Access:
    """The strides of the index expression, where an axis appears in it as a term."""
    place = indexer.place(node.attr[0], list(indices.values()))
    terms = _joined(linear(place.offset)[0])
    strides: dict[str, int | None] = {}
    for name, index in indices.items():
        others = [term for term in terms if term is not index]
        is_hidden = any(depends_on(term, (index,)) for term in others)
        strides[name] = None if is_hidden else terms.get(index, 0)
    if place.valid is None:
        return Access(node, strides, ())
    valid = frozenset(toposort(place.valid))
    return Access(node, strides, tuple([n for n, index in indices.items() if index in valid]))


def _joined(terms: Mapping[Node, int]) -> dict[Node, int]:
    """x / c * c + x % c as x: an axis that a mask of its parts has cut."""
    found = dict(terms)
    for rest, factor in terms.items():
        if rest.op is not _MOD or not rest.src[1].is_const:
            continue
        x, divisor = rest.src
        whole = next((t for t in found if t.op is _IDIV and t.src == rest.src), None)
        if whole is not None and found[whole] == factor * int(divisor.value):
            del found[whole], found[rest]
            found[x] = found.get(x, 0) + factor
    return found


def _computed(kernel: Kernel, order: list[Node]) -> tuple[Access, ...]:
    """The GATHERs: how far a computed offset moves along an axis, where it is plain."""
    gathers = [node for node in order if node.op is _GATHER]
    if not gathers:
        return ()
    names = tuple([name for name, _ in kernel.domain])
    steps = _steps(order, names, free_axes(kernel.ast))
    return tuple([Access(node, steps[node.src[1]], ()) for node in gathers])


def _steps(
    order: list[Node], names: tuple[str, ...], free: Mapping[Node, frozenset[str]]
) -> dict[Node, dict[str, int | None]]:
    """By how much each offset of `order` grows along each axis; None where that varies."""
    steps: dict[Node, dict[str, int | None]] = {}
    for node in order:
        if node.dtype is INT32 or node.dtype is INT64:
            moving = free[node]
            below = [steps.get(child) for child in node.src]
            steps[node] = {
                name: _step(node, place, [None if each is None else each[name] for each in below])
                if name in moving
                else 0
                for place, name in enumerate(names)
            }
    return steps


def _step(node: Node, place: int, below: list[int | None]) -> int | None:
    if node.op is _INDEX and len(node.attr[0].views) == 1:
        view = node.attr[0].views[0]
        is_masked = view.mask is not None and view.mask[place] != (0, view.shape[place])
        return None if is_masked else _fixed(view.strides[place])
    if node.op is _CAST and node.src[0].dtype.is_int:
        return below[0]
    if node.op is _MUL and node.src[1].is_const and below[0] is not None:
        return below[0] * int(node.src[1].value)
    if node.op in (_ADD, _SUB):
        first, second = below
        if first is not None and second is not None:
            return first + second if node.op is _ADD else first - second
    return None
