"""How each access of a kernel walks memory along the axes of the AST: what choices are based on."""

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.ir import AxisKind, Node, Op, Size, depends_on, intern, toposort
from compiler.kernel.axis import Axis
from compiler.kernel.indexing import Indexer, index_dtype
from compiler.kernel.kernel import Kernel, root_origin
from compiler.rules import Builder, linear


@dataclass(frozen=True, slots=True)
class Access:
    """One LOAD or STORE. Strides are in elements by axis of the AST; None is not a fixed number."""

    node: Node
    strides: Mapping[str, int | None]
    masked: tuple[str, ...]  # axes that decide whether the access is valid

    @property
    def is_store(self) -> bool:
        return self.node.op is Op.STORE

    def stride(self, kernel: Kernel, axis: Axis) -> int | None:
        """By how much the offset grows with each iteration of a loop of `kernel`."""
        whole = self.strides[root_origin(kernel, axis.origin)]
        return None if whole is None else whole * axis.step


def accesses(kernel: Kernel) -> tuple[Access, ...]:
    """Every LOAD and STORE of the AST, sources first."""
    order = toposort(kernel.ast)
    nodes = [node for node in order if node.op is Op.LOAD or node.op is Op.STORE]
    if all(len(node.attr[0].views) == 1 for node in nodes):
        return tuple([_plain(kernel, node) for node in nodes])
    indexer = Indexer(Builder(), index_dtype(kernel, order))  # scratch: these are not compiled
    indices = _make_indices(kernel, indexer)
    return tuple(
        [
            _plain(kernel, node)
            if len(node.attr[0].views) == 1
            else _stacked(node, indexer, indices)
            for node in nodes
        ]
    )


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
        name: intern(Op.RANGE, indexer.dtype, (indexer.size(size),), (name, AxisKind.GLOBAL))
        for name, size in kernel.domain
    }


def _stacked(node: Node, indexer: Indexer, indices: Mapping[str, Node]) -> Access:
    """The strides of the index expression, where an axis appears in it as a term."""
    place = indexer.place(node.attr[0], list(indices.values()))
    terms = linear(place.offset)[0]
    strides: dict[str, int | None] = {}
    for name, index in indices.items():
        others = [term for term in terms if term is not index]
        is_hidden = any(depends_on(term, (index,)) for term in others)
        strides[name] = None if is_hidden else terms.get(index, 0)
    if place.valid is None:
        return Access(node, strides, ())
    valid = frozenset(toposort(place.valid))
    return Access(node, strides, tuple([n for n, index in indices.items() if index in valid]))
