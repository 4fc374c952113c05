"""View stacks -> buffer offsets and the condition under which they are valid."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from compiler.ir import (
    INT32,
    INT64,
    AxisKind,
    DType,
    Kind,
    Node,
    Op,
    Size,
    View,
    ViewStack,
    bounds,
    intern,
    toposort,
)
from compiler.kernel.kernel import Kernel, greatest, span
from compiler.rules import Builder, build_linear, linear

_VAR, _CONST = Op.VAR, Op.CONST

_RANGE = Op.RANGE
_VIEWED = frozenset((Op.INDEX, Op.LOAD, Op.STORE, Op.CONST))
_INT32_MAX = int(INT32.highest)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes: a flat offset, and the condition for it (None: always)."""

    offset: Node
    valid: Node | None


@dataclass(frozen=True, slots=True)
class Indexer:
    """Builds index expressions of one kernel in its one index dtype."""

    builder: Builder
    dtype: DType

    def size(self, size: Size) -> Node:
        """A size as a node of the index dtype."""
        if isinstance(size, int):
            return self.builder.const(self.dtype, size)
        if size.dtype is self.dtype:
            return size
        if _may_leave(size, self.dtype):
            return self.builder.cast(size, self.dtype)
        return self._converted(size)

    def _converted(self, size: Node) -> Node:
        """The size computed in the index dtype, so that it folds with other indices."""
        done: dict[Node, Node] = {}
        for node in toposort(size):
            if node.op is _VAR:
                done[node] = self.builder.cast(node, self.dtype)
            elif node.op is _CONST:
                done[node] = self.builder.const(self.dtype, node.value)
            else:
                src = tuple([done[child] for child in node.src])
                done[node] = self.builder.build(node.op, self.dtype, src, node.attr)
        return done[size]

    def place(self, stack: ViewStack, indices: Sequence[Node]) -> Place:
        """Where the position `indices` of the outermost view lies in the buffer, if it is valid.

        Below a mask, indices are known to be inside of it: that mostly leaves no division.
        """
        conditions: list[Node] = []
        flat = self.builder.const(self.dtype, 0)
        real: dict[Node, Node] = {}
        for depth, view in enumerate(reversed(stack.views)):
            if depth > 0:
                indices = self._unflatten(flat, view.shape)
            conditions.extend(self._conditions(view, indices))
            if depth == 0 and len(stack.views) > 1:
                indices = self._inside_mask(view, indices, real)
            flat = self._flatten(view, indices)
        valid = self.all_of(conditions)
        if not real:
            return Place(flat, valid)
        rebuild = self.builder.rebuild
        return Place(rebuild(flat, real), None if valid is None else rebuild(valid, real))

    def stand_in(self, name: str, size: Size) -> Node:
        """For an index that is known to be below a size. A blank: no axis has a name like that."""
        return intern(_RANGE, self.dtype, (self.size(size),), (name, AxisKind.GLOBAL))

    def _inside_mask(
        self, view: View, indices: Sequence[Node], real: dict[Node, Node]
    ) -> list[Node]:
        """The indices counted from the first valid one, by stand-ins; `real` gets what they are."""
        found = list(indices)
        for position, (low, high) in enumerate(view.mask or ()):
            whole = (0, view.shape[position])
            if (low, high) != whole and isinstance(low, int) and isinstance(high, int):
                inside = self.stand_in(f"valid {position}", high - low)
                real[inside] = self.builder.sub(indices[position], low)
                found[position] = self.builder.add(inside, low)
        return found

    def all_of(self, conditions: Sequence[Node]) -> Node | None:
        """The conjunction; None when nothing can be false."""
        total: Node | None = None
        for condition in conditions:
            if condition.is_const and condition.value:
                continue
            total = condition if total is None else self.builder.and_(total, condition)
        return total

    def inside(self, offset: Node, size: Size) -> list[Node]:
        """What holds where a computed offset is one of `size` elements."""
        if not (isinstance(size, int) and size <= _INT32_MAX):
            offset = self.builder.cast(offset, INT64)
        limit = size if isinstance(size, int) else self.builder.cast(size, INT64)
        zero = self.builder.const(offset.dtype, 0)
        return [self.builder.le(zero, offset), self.builder.lt(offset, limit)]

    def sum_of(self, parts: Sequence[tuple[Node, Size]], start: Size = 0) -> Node:
        """`start` plus the sum of index * stride, as one flat sum."""
        terms: dict[Node, int] = {}
        constant = 0
        for index, stride in parts:
            if index.op is _RANGE and isinstance(stride, int):
                terms[index] = terms.get(index, 0) + stride
            elif isinstance(stride, int):
                inner, more = linear(index)
                constant += more * stride
                for term, factor in inner.items():
                    terms[term] = terms.get(term, 0) + factor * stride
            else:
                term = self.builder.mul(index, self.size(stride))
                terms[term] = terms.get(term, 0) + 1
        if isinstance(start, int):
            constant += start
        else:
            term = self.size(start)
            terms[term] = terms.get(term, 0) + 1
        kept = [(term, factor) for term, factor in terms.items() if factor != 0]
        return build_linear(self.builder, self.size(0), kept, constant)

    def _flatten(self, view: View, indices: Sequence[Node]) -> Node:
        parts = [
            (index, stride)
            for index, stride in zip(indices, view.strides, strict=True)
            if stride != 0
        ]
        return self.sum_of(parts, view.offset)

    def _unflatten(self, flat: Node, shape: tuple[Size, ...]) -> list[Node]:
        """The indices of a flat position, right wherever it lies inside the shape."""
        indices: list[Node] = []
        for size in reversed(shape[1:]):
            divisor = self.size(size)
            indices.append(self.builder.mod(flat, divisor))
            flat = self.builder.idiv(flat, divisor)
        return [flat, *reversed(indices)] if shape else []

    def _conditions(self, view: View, indices: Sequence[Node]) -> list[Node]:
        """The comparisons of the mask that are not true for every index below the size."""
        found: list[Node] = []
        if view.mask is None:
            return found
        for index, size, (low, high) in zip(indices, view.shape, view.mask, strict=True):
            if not (isinstance(low, int) and low <= 0):
                found.append(self.builder.le(self.size(low), index))
            if high is not size and not (
                isinstance(high, int) and isinstance(size, int) and high >= size
            ):
                found.append(self.builder.lt(index, self.size(high)))
        return found


def _may_leave(size: Node, dtype: DType) -> bool:
    """Whether a step on the way to `size` may not fit `dtype`, or may have left its own.

    A step that may have wrapped has all of its dtype for an interval.
    """
    lowest, highest = int(dtype.lowest), int(dtype.highest)
    for node in toposort(size):
        low, high = bounds(node)
        if node.dtype.kind is Kind.BOOL or low < lowest or high > highest:
            return True
        if node.op is not _CONST and (low, high) == (node.dtype.lowest, node.dtype.highest):
            return True
    return False


def index_dtype(kernel: Kernel, order: Sequence[Node]) -> DType:
    """int32 where every index of the kernel is proven to fit, else int64. `order` is its AST's."""
    largest = [span(kernel, name) for name, _ in kernel.domain]
    for node in order:
        stack = node.attr[-1] if node.op in _VIEWED else None
        if stack is not None and _largest_value(stack, largest) > _INT32_MAX:
            return INT64
    sizes = [greatest(axis.size) for axis in kernel.axes]
    return INT32 if max([*largest, *sizes], default=0) <= _INT32_MAX else INT64


def _largest_value(stack: ViewStack, largest: Sequence[int]) -> int:
    """A bound on the magnitude of everything computed while a position goes through the stack."""
    seen = flat = 0
    for depth, view in enumerate(reversed(stack.views)):
        if depth > 0:
            sizes = [greatest(size) for size in view.shape]
            inner = max(1, prod(sizes[1:]))
            largest = [flat // inner + 1, *[size - 1 for size in sizes[1:]]][: len(sizes)]
            seen = max(seen, prod(sizes))
        steps = [greatest(stride) for stride in view.strides]
        flat = greatest(view.offset) + sum(
            [step * index for step, index in zip(steps, largest, strict=True)]
        )
        masks = [greatest(bound) for pair in view.mask or () for bound in pair]
        seen = max(seen, flat, *masks, *steps, 0)
    return seen
