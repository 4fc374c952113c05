"""The lazy graph: what tensors stand for before anything is computed.

A `Value` says how its elements follow from those of its sources. Values are interned, so the same
expression is one object, and immutable. To add a kind: a member of `Kind`, a constructor here, and
its view in `view_of` if it moves elements.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias
from weakref import ref

from compiler.errors import ShapeError
from compiler.frontend.symbolic import (
    NONE,
    Bindings,
    BoundSize,
    element_count,
    formulas,
    in_ir,
    merged,
    smallest,
    values_of,
)
from compiler.ir import BOOL, COMPARISONS, INT32, INT64, DType, Node, Op, Size, ViewStack, const

Shape: TypeAlias = tuple[int, ...]
Pairs: TypeAlias = tuple[tuple[int, int], ...]
Number: TypeAlias = bool | int | float
Arg: TypeAlias = Any  # typed per kind by the constructors below
_MOST_ELEMENTS = 2**63 - 1  # places are int64


class Kind(Enum):
    """How a value follows from its sources, and what `arg` holds."""

    __hash__ = object.__hash__

    SOURCE = auto()  # memory; arg: its identity (see storage.Storage)
    CONST = auto()  # one number everywhere; arg: a CONST node
    COUNT = auto()  # 0, 1, 2, ... row by row, in no memory; arg: None
    ELEMENTWISE = auto()  # arg: an Op
    GATHER = auto()  # (table, offsets): table's elements, counted row by row; arg: None
    REDUCE = auto()  # over whole axes, which are dropped; arg: (Op, axes)
    PERMUTE = auto()  # arg: axes
    RESHAPE = auto()  # arg: None, as the shape says it
    EXPAND = auto()  # arg: None
    PAD = auto()  # by zeros; arg: (before, after) of each axis
    SHRINK = auto()  # arg: (start, stop) of each axis
    FLIP = auto()  # arg: axes
    STRIDE = auto()  # every n-th element; arg: the step of each axis
    WINDOWS = auto()  # one axis becomes (window, place); arg: (axis, length, step, dilation)
    CONTIGUOUS = auto()  # the source, but computed by a kernel of its own; arg: whether asked for


_CUTS = frozenset((Kind.PAD, Kind.SHRINK))


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Value:
    """One node of the lazy graph. Made by the constructors of this module alone.

    What it says never changes; a frozen one takes four times as long to make. The last two fields
    are notes about it.
    """

    kind: Kind
    dtype: DType
    shape: Shape
    src: "tuple[Value, ...]"
    arg: Arg
    device: str
    bindings: Bindings  # the variables in its sizes and below, with their values
    storage: Any = field(default=None, init=False)  # what holds its elements; see storage.remember
    formula: Any = field(default=None, init=False)  # what its gradient is; see formulas.known

    def __repr__(self) -> str:
        name = self.arg.name if self.kind is Kind.ELEMENTWISE else self.kind.name
        return f"<{name} {self.dtype}{list(self.shape)} on {self.device}>"

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)


class _Entry(ref[Value]):
    """A value in the table, as long as somebody else holds it."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_table: dict[tuple[Any, ...], _Entry] = {}
# Two threads would otherwise intern two equal values. A value may die, and be forgotten, at any
# time, also while its thread is here.
_lock = threading.RLock()


def _forget(entry: _Entry) -> None:
    with _lock:
        if _table.get(entry.key) is entry:  # and not a newer one
            del _table[entry.key]


def _intern(
    kind: Kind, dtype: DType, shape: Shape, src: tuple[Value, ...], arg: Arg, device: str
) -> Value:
    sizes = [size for size in shape if type(size) is BoundSize]
    if kind in _CUTS:  # these may move while the shape stays
        sizes += [size for pair in arg for size in pair if type(size) is BoundSize]
    # n // 4 is 1 at 4 and at 5: one size, but of two graphs
    at = tuple([values_of(size) for size in sizes]) if sizes else ()
    key = (kind, dtype, shape, src, arg, device, at)
    with _lock:
        known = _table.get(key)
        found = None if known is None else known()
        if found is None:
            found = Value(kind, dtype, shape, src, arg, device, _bindings(sizes, src))
            entry = _table[key] = _Entry(found, _forget)
            entry.key = key
        return found


def _check_countable(shape: Shape) -> None:
    """Raise ShapeError for more elements than have a number; as in NumPy, no elements or some."""
    count = 1
    for size in shape:
        if type(size) is not int:
            count = element_count(shape)
            break
        count *= size or 1
    if count > _MOST_ELEMENTS:
        raise ShapeError(f"shape {shape}: is too big, places in an array have 64 bits")


def _bindings(sizes: Sequence[BoundSize], src: tuple[Value, ...]) -> Bindings:
    parts = [value.bindings for value in src if value.bindings is not NONE]
    parts += [size.bindings for size in sizes]
    return merged(parts) if parts else NONE


# --- leaves ---------------------------------------------------------------------------------------


def source(memory: object, dtype: DType, shape: Shape, device: str) -> Value:
    """The elements of `memory`, row by row."""
    return _intern(Kind.SOURCE, dtype, shape, (), memory, device)


def full(value: Number, dtype: DType, shape: Shape, device: str) -> Value:
    """`value`, converted to `dtype`, everywhere."""
    if isinstance(value, BoundSize):
        return _measured(value, dtype, shape, device)
    return _constant(const(dtype, value), shape, device)


def _constant(number: Node, shape: Shape, device: str) -> Value:
    _check_countable(shape)
    return _intern(Kind.CONST, number.dtype, shape, (), number, device)


def _measured(size: BoundSize, dtype: DType, shape: Shape, device: str) -> Value:
    """A size that is known when a kernel runs: the last number when counting up to it."""
    low = min(smallest(size), 0)
    numbers = count((size - low + 1,), INT64, device)
    last = shrink(numbers, ((size - low, size - low + 1),))
    if low:
        last = elementwise(Op.ADD, last, full(low, INT64, (1,), device))
    return expand(reshape(cast(last, dtype), (1,) * len(shape)), shape)


def count(shape: Shape, dtype: DType, device: str) -> Value:
    """0, 1, 2, ... row by row, as int32 or int64."""
    assert dtype in (INT32, INT64)
    _check_countable(shape)
    return _intern(Kind.COUNT, dtype, shape, (), None, device)


# --- computation ----------------------------------------------------------------------------------


def elementwise(op: Op, *src: Value) -> Value:
    """`op` of equally shaped values on one device; dtypes as docs/ir.md asks for."""
    first = src[0]
    for value in src[1:]:
        assert value.shape == first.shape
        assert value.device == first.device
    dtype = BOOL if op in COMPARISONS else src[-1].dtype
    return _intern(Kind.ELEMENTWISE, dtype, first.shape, src, op, first.device)


def cast(value: Value, dtype: DType) -> Value:
    """The value converted to `dtype`."""
    if value.dtype is dtype:
        return value
    return _intern(Kind.ELEMENTWISE, dtype, value.shape, (value,), Op.CAST, value.device)


def bitcast(value: Value, dtype: DType) -> Value:
    """The same bits as another dtype of the same width."""
    assert value.dtype.bits == dtype.bits
    return _intern(Kind.ELEMENTWISE, dtype, value.shape, (value,), Op.BITCAST, value.device)


def reduce(op: Op, value: Value, axes: tuple[int, ...]) -> Value:
    """`op` over whole axes (in ascending order), which are dropped."""
    if not axes:
        return value
    shape = tuple([n for axis, n in enumerate(value.shape) if axis not in axes])
    if value.size == 0:  # no value with elements depends on one without: nothing to launch
        return full(identity(op, value.dtype), value.dtype, shape, value.device)
    found = _intern(Kind.REDUCE, value.dtype, shape, (value,), (op, axes), value.device)
    if op is Op.ADD and value.dtype.is_float:
        return _sum_of_some(found, prod([value.shape[axis] for axis in axes]))
    return found


def _sum_of_some(total: Value, count: int) -> Value:
    """A sum of nothing is 0.0, though sums start at -0.0; only a symbolic axis may be empty."""
    if not isinstance(count, BoundSize) or smallest(count) > 0:
        return total
    none = full(0, total.dtype, total.shape, total.device)
    number = full(count, INT64, total.shape, total.device)
    zero = full(0, INT64, total.shape, total.device)
    return elementwise(Op.WHERE, elementwise(Op.EQ, number, zero), none, total)


def gather(table: Value, offsets: Value) -> Value:
    """Elements of `table`, counted row by row, at int32 or int64 offsets; 0 where there is none."""
    assert offsets.dtype in (INT32, INT64)
    assert table.device == offsets.device
    if table.size == 0:
        return full(0, table.dtype, offsets.shape, table.device)
    while table.kind is Kind.RESHAPE:
        table = table.src[0]
    return _intern(Kind.GATHER, table.dtype, offsets.shape, (table, offsets), None, table.device)


def identity(op: Op, dtype: DType) -> Number:
    """What a reduction by `op` of nothing gives."""
    match op:
        case Op.MUL:
            return 1
        case Op.MAX:
            return dtype.lowest
        case Op.MIN:
            return dtype.highest
        case Op.AND:
            return -1 if dtype.is_int else True
        case _:
            return 0


def contiguous(value: Value, *, is_asked: bool = False) -> Value:
    """The same value, computed by a kernel of its own, unless it lies in memory row by row.

    The program asks for it, or else a function of several kernels does: `explain` tells them apart.
    """
    base = value
    while base.kind is Kind.RESHAPE:
        base = base.src[0]
    if base.kind in (Kind.SOURCE, Kind.CONTIGUOUS):
        return value
    return _intern(Kind.CONTIGUOUS, value.dtype, value.shape, (value,), is_asked, value.device)


# --- movement -------------------------------------------------------------------------------------


def _move(kind: Kind, value: Value, shape: Shape, arg: Arg) -> Value:
    _check_countable(shape)
    if value.kind is Kind.CONST and kind is not Kind.PAD:  # a constant looks the same from anywhere
        return _constant(value.arg, shape, value.device)
    return _intern(kind, value.dtype, shape, (value,), arg, value.device)


def permute(value: Value, axes: tuple[int, ...]) -> Value:
    """New axis i is old axis axes[i]."""
    if axes == tuple(range(value.ndim)):
        return value
    return _move(Kind.PERMUTE, value, tuple([value.shape[axis] for axis in axes]), axes)


def reshape(value: Value, shape: Shape) -> Value:
    """The same elements in the same order under another shape of the same size."""
    if value.kind is Kind.RESHAPE:
        value = value.src[0]
    return value if shape == value.shape else _move(Kind.RESHAPE, value, shape, None)


def expand(value: Value, shape: Shape) -> Value:
    """Repeat axes of size 1 up to `shape`."""
    return value if shape == value.shape else _move(Kind.EXPAND, value, shape, None)


def pad(value: Value, pairs: Pairs) -> Value:
    """`pairs[i]` zeros before and after axis i."""
    if all(pair == (0, 0) for pair in pairs):
        return value
    shape = tuple([a + n + b for n, (a, b) in zip(value.shape, pairs, strict=True)])
    if value.size == 0:
        return full(0, value.dtype, shape, value.device)
    return _move(Kind.PAD, value, shape, pairs)


def shrink(value: Value, pairs: Pairs) -> Value:
    """Elements start to stop of each axis."""
    shape = tuple([stop - start for start, stop in pairs])
    return value if shape == value.shape else _move(Kind.SHRINK, value, shape, pairs)


def flip(value: Value, axes: tuple[int, ...]) -> Value:
    """The value with these axes (in ascending order) reversed."""
    return _move(Kind.FLIP, value, value.shape, axes) if axes else value


def stride(value: Value, steps: tuple[int, ...]) -> Value:
    """Every steps[i]-th element of axis i, from the first."""
    if all(step == 1 for step in steps):
        return value
    shape = tuple([-(-n // step) for n, step in zip(value.shape, steps, strict=True)])
    return _move(Kind.STRIDE, value, shape, steps)


def windows(value: Value, axis: int, length: int, step: int = 1, dilation: int = 1) -> Value:
    """`axis` becomes (window, place in window); only whole windows count."""
    count = (value.shape[axis] - (length - 1) * dilation - 1) // step + 1
    shape = (*value.shape[:axis], count, length, *value.shape[axis + 1 :])
    return _move(Kind.WINDOWS, value, shape, (axis, length, step, dilation))


def view_of(value: Value) -> ViewStack:
    """What a movement shows of its source's elements, counted row by row."""
    return _view(value.kind, value.src[0].shape, value.shape, value.arg)


@lru_cache(maxsize=4096)  # a pure function, and programs repeat themselves
def _view(kind: Kind, before: Shape, after: Shape, arg: Arg) -> ViewStack:
    return _VIEWS[kind](ViewStack.contiguous(formulas(before)), formulas(after), in_ir(arg))


_VIEWS: dict[Kind, Callable[[ViewStack, tuple[Size, ...], Arg], ViewStack]] = {
    Kind.PERMUTE: lambda stack, shape, arg: stack.permute(arg),
    Kind.RESHAPE: lambda stack, shape, arg: stack.reshape(shape),
    Kind.EXPAND: lambda stack, shape, arg: stack.expand(shape),
    Kind.PAD: lambda stack, shape, arg: stack.pad(arg),
    Kind.SHRINK: lambda stack, shape, arg: stack.shrink(arg),
    Kind.FLIP: lambda stack, shape, arg: stack.flip(arg),
    Kind.STRIDE: lambda stack, shape, arg: stack.stride(arg),
    Kind.WINDOWS: lambda stack, shape, arg: stack.windows(*arg),
}
MOVEMENTS = frozenset(_VIEWS)


# --- walks ----------------------------------------------------------------------------------------


def toposort(
    roots: Iterable[Value], is_leaf: Callable[[Value], bool] = lambda value: False
) -> list[Value]:
    """Every value reachable from `roots` once, sources before users, not looking below leaves."""
    return in_order(roots, lambda value: () if is_leaf(value) else value.src)


def in_order(roots: Iterable[Value], sources: Callable[[Value], Sequence[Value]]) -> list[Value]:
    """Every value reachable from `roots` by `sources` once, sources before users."""
    order: list[Value] = []
    done: set[Value] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:  # iterative: graphs are deeper than Python's stack
            value, is_expanded = stack.pop()
            if is_expanded:
                order.append(value)
            elif value not in done:
                done.add(value)
                stack.append((value, True))
                stack.extend([(child, False) for child in reversed(sources(value))])
    return order


def assume_countable(roots: Iterable[Value], is_leaf: Callable[[Value], bool]) -> None:
    """Note which shapes have no more elements than have a number, also of parts made before."""
    for value in toposort(roots, is_leaf):
        if value.bindings is not NONE:
            element_count(value.shape)
