"""Random kernel ASTs, valid by construction. To add a shape: a function, a line in STRATEGIES."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    UINT32,
    VOID,
    DType,
    Node,
    Op,
    ViewStack,
    const,
    intern,
    substitute,
    toposort,
)
from replay.fuzz.images import with_images
from replay.fuzz.views import Draw, load_view, mask_view, store_view

_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 24, 32)
_MOST_ITERATIONS = 1 << 13
_FLOATS = (FLOAT32, FLOAT32, FLOAT64, FLOAT16)
_INTEGERS = (INT32, INT64, UINT8, UINT32, INT8)
_FLOAT_BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.FDIV)
_FLOAT_UNARY = (Op.NEG, Op.TRUNC, Op.FLOOR, Op.RINT, Op.SQRT, Op.EXP2)
_INTEGER_BINARY = (
    *(Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.IDIV, Op.MOD),
    *(Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR),
)
_COMPARE = (Op.LT, Op.LE, Op.EQ, Op.NE)
_FLOAT_REDUCE = (Op.MAX, Op.ADD, Op.MIN, Op.MUL)
_INTEGER_REDUCE = (Op.MAX, Op.ADD, Op.MIN, Op.MUL, Op.AND, Op.OR, Op.XOR)
_TILES = (16, 8, 6, 17)
_DOTS = (
    (FLOAT32, FLOAT32, FLOAT32),
    (BFLOAT16, BFLOAT16, FLOAT32),
    (UINT8, INT8, INT32),
    (FLOAT16, FLOAT16, FLOAT32),
)
_FLOAT_VALUES = (0.0, 1.0, -1.0, 0.5, 3.0, -2.25)
_INTEGER_VALUES = (0, 1, 2, 3, 7, 100, 255)


@dataclass(slots=True)
class _Kernel:
    """What has been drawn of one kernel so far; lives for one draw."""

    draw: Draw
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    outputs: tuple[int, ...]
    buffers: list[Node] = field(default_factory=list)

    def choose(self, options: tuple[Op, ...] | tuple[DType, ...]) -> Op | DType:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def buffer(self, dtype: DType, size: int) -> Node:
        self.buffers.append(intern(Op.BUFFER, dtype, (), (1 + len(self.buffers), size)))
        return self.buffers[-1]  # slot 0 is the output's


def _domain(draw: Draw, outputs: int, reduces: int) -> _Kernel:
    sizes: list[int] = []
    left = _MOST_ITERATIONS
    for _ in range(outputs + reduces):
        fitting = [size for size in _SIZES if size <= left]
        sizes.append(fitting[draw(st.integers(0, len(fitting) - 1))])
        left //= sizes[-1]
    names = [f"g{index}" for index in range(outputs)] + [f"r{index}" for index in range(reduces)]
    return _Kernel(draw, tuple(names), tuple(sizes), tuple(range(outputs)))


def _dtype(kernel: _Kernel) -> DType:
    kinds = _FLOATS if kernel.draw(st.integers(0, 2)) < 2 else _INTEGERS  # two in three
    chosen = kernel.choose(kinds)
    assert isinstance(chosen, DType)
    return chosen


def _leaf(kernel: _Kernel, dtype: DType, axes: tuple[int, ...]) -> Node:
    kind = kernel.draw(st.integers(0, 9))
    if kind == 9:  # one leaf in ten is a constant
        return _constant(kernel, dtype, axes)
    moving = tuple(axis for axis in axes if kernel.draw(st.integers(0, 3)) < 3)
    return _load(kernel, dtype, moving)


def _constant(kernel: _Kernel, dtype: DType, axes: tuple[int, ...]) -> Node:
    values = _FLOAT_VALUES if dtype.is_float else _INTEGER_VALUES
    node = const(dtype, values[kernel.draw(st.integers(0, len(values) - 1))])
    if kernel.draw(st.booleans()):
        return node
    view: ViewStack = mask_view(kernel.draw, kernel.sizes, axes)
    return intern(Op.CONST, dtype, (), (node.value, view))


def _tree(
    kernel: _Kernel, dtype: DType, axes: tuple[int, ...], depth: int, given: Node | None = None
) -> Node:
    """An expression over `axes`; it contains `given`, if there is one."""
    kind = kernel.draw(st.integers(0, 5)) if depth else 0
    if kind == 0:
        return _leaf(kernel, dtype, axes) if given is None else _as(given, dtype)
    first = _tree(kernel, dtype, axes, depth - 1, given)
    if kind == 1 and dtype.is_float:
        return intern(_op(kernel, _FLOAT_UNARY), dtype, (first,))
    if kind == 2:  # the numbers are only the order of shrinking
        source = _dtype(kernel)
        return _as(_tree(kernel, source, axes, depth - 1, first), dtype)
    second = _tree(kernel, dtype, axes, depth - 1)
    if kernel.draw(st.booleans()):
        first, second = second, first
    if kind == 3:
        condition = intern(_op(kernel, _COMPARE), BOOL, (first, second))
        return intern(Op.WHERE, dtype, (condition, first, _tree(kernel, dtype, axes, depth - 1)))
    binary = _FLOAT_BINARY if dtype.is_float else _INTEGER_BINARY
    return intern(_op(kernel, binary), dtype, (first, second))


def _op(kernel: _Kernel, options: tuple[Op, ...]) -> Op:
    chosen = kernel.choose(options)
    assert isinstance(chosen, Op)
    return chosen


def _as(node: Node, dtype: DType) -> Node:
    return node if node.dtype is dtype else intern(Op.CAST, dtype, (node,))


def _reduce(kernel: _Kernel, value: Node, *axes: int) -> Node:
    op = _op(kernel, _FLOAT_REDUCE if value.dtype.is_float else _INTEGER_REDUCE)
    names = tuple(kernel.names[axis] for axis in axes)
    return intern(Op.REDUCE, value.dtype, (value,), (op, names))


def _finish(kernel: _Kernel, value: Node) -> Node:
    """Store `value` in buffer 0."""
    count = 1
    for axis in kernel.outputs:
        count *= kernel.sizes[axis]
    out = intern(Op.BUFFER, value.dtype, (), (0, count))
    view = store_view(kernel.draw, kernel.sizes, kernel.outputs)
    store = intern(Op.STORE, VOID, (out, value), (view,))
    axes = tuple(zip(kernel.names, kernel.sizes, strict=True))
    return _renumbered(intern(Op.SINK, VOID, (store,), (axes,)))


def _renumbered(root: Node) -> Node:
    """Slots without gaps: a leaf that was drawn and then not used leaves one."""
    used = sorted(
        [node for node in toposort(root) if node.op is Op.BUFFER],
        key=lambda node: int(node.attr[0]),
    )
    mapping = {
        node: intern(Op.BUFFER, node.dtype, (), (slot, node.attr[1]))
        for slot, node in enumerate(used)
    }
    return substitute(root, {old: new for old, new in mapping.items() if old is not new})


def pointwise(draw: Draw) -> Node:
    """An expression of loads."""
    kernel = _domain(draw, 1 + draw(st.integers(0, 2)), 0)
    return _finish(kernel, _tree(kernel, _dtype(kernel), kernel.outputs, 3))


def one_reduce(draw: Draw) -> Node:
    """An expression of a reduce over one or two axes."""
    reduces = 1 + draw(st.integers(0, 1))
    kernel = _domain(draw, 1 + draw(st.integers(0, 1)), reduces)
    dtype, every = _dtype(kernel), tuple(range(len(kernel.sizes)))
    inner = _reduce(kernel, _tree(kernel, dtype, every, 2), *every[len(kernel.outputs) :])
    return _finish(kernel, _tree(kernel, dtype, kernel.outputs, 1, inner))


def parallel_reduces(draw: Draw) -> Node:
    """Two reduces over the same axis, combined."""
    kernel = _domain(draw, 1 + draw(st.integers(0, 1)), 1)
    dtype, every = _dtype(kernel), tuple(range(len(kernel.sizes)))
    first = _reduce(kernel, _tree(kernel, dtype, every, 1), every[-1])
    second = _reduce(kernel, _tree(kernel, dtype, every, 1), every[-1])
    binary = _FLOAT_BINARY if dtype.is_float else _INTEGER_BINARY
    return _finish(kernel, intern(_op(kernel, binary), dtype, (first, second)))


def chained_reduces(draw: Draw) -> Node:
    """A reduce of an expression that contains another reduce, as in softmax or variance."""
    kernel = _domain(draw, 1 + draw(st.integers(0, 1)), 2)
    dtype, outer = _dtype(kernel), (*kernel.outputs, len(kernel.sizes) - 2)
    inside = (*kernel.outputs, len(kernel.sizes) - 1)
    inner = _reduce(kernel, _tree(kernel, dtype, inside, 1), inside[-1])
    value = _tree(kernel, dtype, outer, 2, inner)
    return _finish(
        kernel, _tree(kernel, dtype, kernel.outputs, 1, _reduce(kernel, value, outer[-1]))
    )


def rows(draw: Draw) -> Node:
    """A row, reduced and reduced again by what that gave, then gone along once more: softmax."""
    outer = 1 + draw(st.integers(0, 1))
    kernel = _domain(draw, outer, 1)
    size = kernel.sizes[-1]
    names = (*kernel.names[:outer], f"g{outer}", "r0", "r1")
    outputs = tuple(range(outer + 1))
    kernel = _Kernel(draw, names, (*kernel.sizes[:outer], size, size, size), outputs)
    dtype, given = _dtype(kernel), None
    for axis in (outer + 1, outer + 2):
        value = _tree(kernel, dtype, (*outputs[:outer], axis), 1, given)
        given = _reduce(kernel, value, axis)
    return _finish(kernel, _tree(kernel, dtype, outputs, 1, given))


def gathers(draw: Draw) -> Node:
    """An expression, perhaps of a reduce, of elements at computed offsets, some of them outside."""
    reduces = draw(st.integers(0, 1))
    kernel = _domain(draw, 1 + draw(st.integers(0, 1)), reduces)
    dtype, every = _dtype(kernel), tuple(range(len(kernel.sizes)))
    picked = _gather(kernel, dtype, every)
    value = _tree(kernel, dtype, every, 1, picked)
    if reduces:
        value = _reduce(kernel, value, every[-1])
    return _finish(kernel, _tree(kernel, dtype, kernel.outputs, 1, value))


def _gather(kernel: _Kernel, dtype: DType, axes: tuple[int, ...]) -> Node:
    wide = (INT32, INT64)[kernel.draw(st.integers(0, 1))]
    size = _SIZES[kernel.draw(st.integers(0, len(_SIZES) - 1))]
    moving = tuple(axis for axis in axes if kernel.draw(st.integers(0, 3)) < 3)
    view, _ = load_view(kernel.draw, kernel.sizes, moving)
    offset = intern(Op.INDEX, wide, (), (view,))
    if kernel.draw(st.booleans()):
        offset = _tree(kernel, wide, axes, 1, offset)
    if kernel.draw(st.booleans()):  # offsets that are proven to be inside need no gate
        low = intern(Op.MAX, wide, (offset, const(wide, 0)))
        offset = intern(Op.MIN, wide, (low, const(wide, size - 1)))
    return intern(Op.GATHER, dtype, (kernel.buffer(dtype, size), offset))


def products(draw: Draw) -> Node:
    """A sum of products as tensor cores take them, or two, often in sizes of their tiles."""
    outputs, reduces = 2 + draw(st.integers(0, 1)), 1 + draw(st.integers(0, 1))
    names = [f"g{index}" for index in range(outputs)] + [f"r{index}" for index in range(reduces)]
    extra = [2] * (outputs - 2)  # a stack of products
    rows, columns, terms = [_TILES[draw(st.integers(0, len(_TILES) - 1))] for _ in range(3)]
    sizes = (*extra, rows, columns, terms, *[2] * (reduces - 1))
    kernel = _Kernel(draw, tuple(names), sizes, tuple(range(outputs)))
    summed = tuple(range(outputs, len(sizes)))
    a, b, c = _DOTS[draw(st.integers(0, len(_DOTS) - 1))]
    factors = tuple(
        [
            (dtype, (*range(len(extra)), *_all_but_one(draw, (axis, *summed))))
            for dtype, axis in ((a, outputs - 2), (b, outputs - 1))
        ]
    )
    total = _sum_of_products(kernel, factors, c)
    if draw(st.integers(0, 2)) == 2:
        binary = _FLOAT_BINARY if c.is_float else _INTEGER_BINARY
        total = intern(_op(kernel, binary), c, (total, _sum_of_products(kernel, factors, c)))
    return _finish(kernel, _tree(kernel, c, kernel.outputs, draw(st.integers(0, 1)), total))


def _sum_of_products(
    kernel: _Kernel, factors: tuple[tuple[DType, tuple[int, ...]], ...], dtype: DType
) -> Node:
    """The sum over all reduce axes; `factors` are the dtypes and moving axes of what it loads."""
    loads = [_load(kernel, narrow, moving) for narrow, moving in factors]
    if loads[0].dtype is loads[1].dtype and kernel.draw(st.booleans()):
        product = _as(intern(Op.MUL, loads[0].dtype, tuple(loads)), dtype)
    else:
        product = intern(Op.MUL, dtype, tuple([_as(load, dtype) for load in loads]))
    return intern(Op.REDUCE, dtype, (product,), (Op.ADD, kernel.names[len(kernel.outputs) :]))


def _all_but_one(draw: Draw, axes: tuple[int, ...]) -> tuple[int, ...]:
    """All axes, or all but one along which a factor repeats."""
    left_out = draw(st.integers(0, 4 * len(axes) - 1))
    return tuple([axis for place, axis in enumerate(axes) if place != left_out])


def _load(kernel: _Kernel, dtype: DType, moving: tuple[int, ...]) -> Node:
    view, size = load_view(kernel.draw, kernel.sizes, moving)
    return intern(Op.LOAD, dtype, (kernel.buffer(dtype, size),), (view,))


def images(draw: Draw) -> Node:
    """A kernel of another shape, of float32 or float16, with images."""
    shape = (pointwise, one_reduce, gathers)[draw(st.integers(0, 2))]
    return with_images(draw, shape(draw))


@dataclass(frozen=True, slots=True)
class Strategy:
    """One shape of kernels."""

    name: str
    ast: Callable[[Draw], Node]


STRATEGIES: tuple[Strategy, ...] = (
    Strategy("one-reduce", one_reduce),
    Strategy("pointwise", pointwise),
    Strategy("parallel-reduces", parallel_reduces),
    Strategy("chained-reduces", chained_reduces),
    Strategy("gathers", gathers),
    Strategy("rows", rows),
    Strategy("images", images),
    Strategy("products", products),
)


@st.composite
def asts(draw: st.DrawFn) -> tuple[str, Node]:
    """A strategy's name and one of its kernels."""
    strategy = STRATEGIES[draw(st.integers(0, len(STRATEGIES) - 1))]
    return strategy.name, strategy.ast(draw)
