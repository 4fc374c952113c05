"""The walk over an AST: box after box of its domain, each node once per box as one array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from compiler.backends.reference.algebra import Algebra, P, V
from compiler.backends.reference.arithmetic import Array, numpy_dtype
from compiler.backends.reference.views import (
    Box,
    Stack,
    load,
    positions,
    resolve,
    size_of,
    variable,
    where_valid,
    without_empty,
)
from compiler.ir import ARRAYS, Node, Op, free_axes, toposort

TEMPORARY_ELEMENTS = 1 << 23  # of all nodes of a box together: 64 MiB of float64
LEAST_BUDGET = 1 << 14  # elements of one node: fewer are not worth a step


@dataclass(frozen=True, slots=True)
class Piece(Generic[V]):
    """The values one STORE writes in one box of the output axes."""

    store: Node
    stack: Stack
    box: Box
    value: V


class Domain(Generic[V, P]):
    """An AST prepared for evaluation. Owns nothing that changes."""

    def __init__(
        self,
        root: Node,
        memory: Mapping[int, Array],
        variables: Mapping[str, int],
        algebra: Algebra[V, P],
    ) -> None:
        self.root, self.variables, self.algebra = root, variables, algebra
        names = tuple([name for name, _ in root.attr[0]])
        order = toposort(root)
        self.number = {name: axis for axis, name in enumerate(names)}
        sizes = tuple([size_of(size, variables) for _, size in root.attr[0]])
        self.whole = Box((0,) * len(sizes), sizes)
        free = free_axes(root)
        self.axes = {node: tuple([name in free[node] for name in names]) for node in order}
        reduced = {name for node in order if node.op is Op.REDUCE for name in node.attr[1]}
        self.is_output = tuple([name not in reduced for name in names])
        self.stacks = {
            node: without_empty(resolve(node.attr[-1], variables), self.axes[node])
            for node in order
            if node.op in _VIEWED and node.attr[-1] is not None
        }
        self.memory = {
            node: algebra.memory(node.dtype, memory[node.attr[0]])
            for node in order
            if node.op in ARRAYS
        }
        self.budget = max(LEAST_BUDGET, TEMPORARY_ELEMENTS // len(order))

    def pieces(self) -> Iterator[Piece[V]]:
        """Every STORE's values, over boxes that tile the output axes."""
        if 0 in self.whole.sizes and any(
            size == 0
            for size, output in zip(self.whole.sizes, self.is_output, strict=True)
            if output
        ):
            return
        pending = [self.whole]
        while pending:
            box = pending.pop()
            halves = self._halves(box)
            if halves is None:
                yield from self._evaluate(box)
            else:
                pending.extend(reversed(halves))

    def _evaluate(self, box: Box) -> Iterator[Piece[V]]:
        frame = Frame(self, box, None)
        outputs = box.keep(self.is_output)
        for store in self.root.src:
            yield Piece(store, self.stacks[store], outputs, frame.value(store.src[1]))

    def _halves(self, box: Box) -> tuple[Box, Box] | None:
        """Two boxes where one is too much, cut where the least is computed twice."""
        size, moving = max(self.peak(node.src[1], box) for node in self.root.src)
        if size <= self.budget:
            return None
        choices = [
            (self._again(axis, box), axis)
            for axis, output in enumerate(self.is_output)
            if output and box.sizes[axis] > 1 and moving[axis]
        ]
        return split(box, min(choices)[1]) if choices else None

    def _again(self, axis: int, box: Box) -> int:
        """How many elements both halves of a box would have."""
        return sum([box.volume(axes) for axes in self.axes.values() if not axes[axis]])

    def peak(self, target: Node, box: Box) -> tuple[int, tuple[bool, ...]]:
        """The most elements a node under `target` takes in `box`, and the axes of that node."""
        best = (0, self.is_output)
        skipped = set()
        for node in reversed(toposort(target)):
            if product_of(node) is not None:
                skipped.add(node.src[0])
            if node not in skipped and node.op not in ARRAYS:
                best = max(best, (box.volume(self.axes[node]), self.axes[node]))
        return best


def split(box: Box, axis: int) -> tuple[Box, Box]:
    """The two halves of `box` along an axis."""
    low, size = box.lows[axis], box.sizes[axis]
    half = size // 2
    return box.part(axis, low, half), box.part(axis, low + half, size - half)


def product_of(node: Node) -> tuple[Node, Node] | None:
    """The factors of a sum of products, which need not be multiplied out one by one."""
    if node.op is Op.REDUCE and node.attr[0] is Op.ADD and node.src[0].op is Op.MUL:
        return node.src[0].src[0], node.src[0].src[1]
    return None


class Frame(Generic[V, P]):
    """The values of nodes in one box. Owned by the evaluation of that box."""

    def __init__(self, domain: Domain[V, P], box: Box, outer: "Frame[V, P] | None") -> None:
        self.domain, self.box, self.outer = domain, box, outer
        self.values: dict[Node, V] = {}

    def value(self, target: Node) -> V:
        """The value of a node over the box, with size 1 on the axes it does not depend on."""
        if target in self.values:
            return self.values[target]
        stack = [target]
        while stack:
            node = stack[-1]
            if node in self.values:
                stack.pop()
                continue
            missing = [child for child in _computed(node) if child not in self.values]
            if missing:
                stack.extend(missing)
                continue
            self.values[node] = self._compute(node)
            stack.pop()
        return self.values[target]

    def _compute(self, node: Node) -> V:
        if self.outer is not None and self._is_outside(node):
            return self.outer.value(node)
        match node.op:
            case Op.REDUCE:
                return self.domain.algebra.finish(
                    node.attr[0], node.dtype, self.reduction(node, self.box)
                )
            case Op.LOAD:
                return self._load(node)
            case Op.CONST:
                return self._const(node)
            case Op.INDEX:
                return self._index(node)
            case Op.GATHER:
                return self._gather(node)
            case Op.VAR:
                number = variable(node, self.domain.variables)
                return self.domain.algebra.constant(node.dtype, self._spread(number))
            case _:
                sources = [self.values[child] for child in node.src]
                return self.domain.algebra.apply(node, *sources)

    def _is_outside(self, node: Node) -> bool:
        """Whether the node has the same value in the enclosing frame's box."""
        assert self.outer is not None
        axes = self.domain.axes[node]
        return self.box.keep(axes) == self.outer.box.keep(axes)

    def _spread(self, number: Array) -> Array:
        return number.reshape((1,) * len(self.box.sizes))

    def _load(self, node: Node) -> V:
        domain, buffer = self.domain, node.src[0]
        box = self.box.keep(domain.axes[node])
        return domain.algebra.load(
            node.dtype, load(domain.memory[buffer], domain.stacks[node], box)
        )

    def _const(self, node: Node) -> V:
        number = self._spread(np.asarray(node.value, numpy_dtype(node.dtype)))
        if node.attr[1] is not None:
            valid = where_valid(self.domain.stacks[node], self.box.keep(self.domain.axes[node]))
            number = np.where(valid, number, np.zeros_like(number))
        return self.domain.algebra.constant(node.dtype, number)

    def _index(self, node: Node) -> V:
        box = self.box.keep(self.domain.axes[node])
        offsets, valid = positions(self.domain.stacks[node], box)
        number = np.where(valid, offsets, 0).astype(numpy_dtype(node.dtype))
        return self.domain.algebra.constant(node.dtype, number)

    def _gather(self, node: Node) -> V:
        domain, buffer = self.domain, node.src[0]
        flat = domain.memory[buffer][: size_of(buffer.attr[1], domain.variables)]
        return domain.algebra.gather(node.dtype, flat, self.values[node.src[1]])

    def reduction(self, node: Node, box: Box, *, contracts: bool = True) -> P:
        """The partial reduction over `box`, in halves where its source would be too large.

        A sum of products is contracted without the products, if the algebra can and `contracts`.
        """
        domain = self.domain
        factors = product_of(node)
        axes = tuple([domain.number[name] for name in node.attr[1]])
        sources = factors if factors is not None and contracts else node.src
        size, moving = max(domain.peak(source, box) for source in sources)
        splittable = [axis for axis in axes if box.sizes[axis] > 1 and moving[axis]]
        if size > domain.budget and splittable:
            halves = split(box, max(splittable, key=lambda axis: box.sizes[axis]))
            a, b = [self.reduction(node, half, contracts=contracts) for half in halves]
            return domain.algebra.join(node.attr[0], node.dtype, a, b)
        frame = self if box == self.box else Frame(domain, box, self)
        extents = tuple([(axis, box.sizes[axis]) for axis in axes])
        if factors is None:
            value = frame.value(node.src[0])
            return domain.algebra.reduce(node.attr[0], node.dtype, value, extents)
        a_factor, b_factor = (frame.value(factor) for factor in factors)
        if contracts:
            found = domain.algebra.contract(node.dtype, a_factor, b_factor, extents)
            return frame.reduction(node, box, contracts=False) if found is None else found
        terms = domain.algebra.products(node.src[0], a_factor, b_factor)
        return domain.algebra.reduce(Op.ADD, node.dtype, terms, extents)


_VIEWED = frozenset((Op.INDEX, Op.LOAD, Op.STORE, Op.CONST))
_LEAVES = frozenset((Op.INDEX, Op.LOAD, Op.REDUCE, Op.CONST, Op.VAR))


def _computed(node: Node) -> tuple[Node, ...]:
    """The sources that have a value in the node's own box."""
    if node.op is Op.GATHER:
        return node.src[1:]
    return () if node.op in _LEAVES else node.src
