"""Small ASTs for the tests of the reference, and the plainest possible evaluation of an AST."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from compiler.backends.reference.arithmetic import apply, identity, numpy_dtype
from compiler.ir import VOID, DType, Node, Op, Size, Spec, View, ViewStack, const, intern, verify

Axes = Sequence[tuple[str, Size]]


def buffer(slot: int, size: Size, dtype: DType) -> Node:
    return intern(Op.BUFFER, dtype, (), (slot, size))


def contiguous(shape: Sequence[int], used: Sequence[bool] | None = None) -> View:
    """A view that walks the used axes of `shape` in order and repeats over the others."""
    used = [True] * len(shape) if used is None else used
    strides, step = [], 1
    for size, walks in zip(reversed(shape), reversed(used), strict=True):
        strides.append(step if walks else 0)
        step *= size if walks else 1
    return View(tuple(shape), tuple(reversed(strides)))


def load(source: Node, *views: View) -> Node:
    return intern(Op.LOAD, source.dtype, (source,), (ViewStack(views),))


def masked_const(dtype: DType, value: float, *views: View) -> Node:
    return intern(Op.CONST, dtype, (), (const(dtype, value).value, ViewStack(views)))


def alu(op: Op, *src: Node, dtype: DType | None = None) -> Node:
    return intern(op, dtype or src[0].dtype, src)


def reduce(op: Op, value: Node, *axes: str) -> Node:
    return intern(Op.REDUCE, value.dtype, (value,), (op, axes))


def store(target: Node, value: Node, *views: View) -> Node:
    return intern(Op.STORE, VOID, (target, value), (ViewStack(views),))


def sink(axes: Axes, *stores: Node) -> Node:
    root = intern(Op.SINK, VOID, stores, (tuple(axes),))
    verify(root, Spec.KERNEL)
    return root


def elementwise(op: Op, dtype: DType, source: DType, size: int, arity: int) -> Node:
    """out[i] = op(in1[i], ...) over one axis."""
    view = contiguous((size,))
    loads = [load(buffer(slot + 1, size, source), view) for slot in range(arity)]
    return sink([("g0", size)], store(buffer(0, size, dtype), alu(op, *loads, dtype=dtype), view))


def reduction(op: Op, dtype: DType, rows: int, columns: int) -> Node:
    """out[i] = op over j of in[i, j]."""
    shape = (rows, columns)
    value = reduce(op, load(buffer(1, rows * columns, dtype), contiguous(shape)), "r0")
    target = store(buffer(0, rows, dtype), value, contiguous(shape, (True, False)))
    return sink([("g0", rows), ("r0", columns)], target)


def matmul(m: int, n: int, k: int, dtype: DType) -> Node:
    shape = (m, n, k)
    a = load(buffer(1, m * k, dtype), contiguous(shape, (True, False, True)))
    b = load(buffer(2, k * n, dtype), View(shape, (0, 1, n)))
    total = reduce(Op.ADD, alu(Op.MUL, a, b), "r0")
    target = store(buffer(0, m * n, dtype), total, contiguous(shape, (True, True, False)))
    return sink([("g0", m), ("g1", n), ("r0", k)], target)


def by_hand(root: Node, buffers: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Position after position, node after node, reductions in order."""
    names = [name for name, _ in root.attr[0]]
    sizes = dict(root.attr[0])
    result = {s.src[0].attr[0]: buffers[s.src[0].attr[0]].copy() for s in root.src}
    reduced = {name for name in names for n in _below(root) if _reduces(n, name)}
    outputs = [name for name in names if name not in reduced]
    for index in itertools.product(*[range(sizes[name]) for name in outputs]):
        position = dict.fromkeys(names, 0) | dict(zip(outputs, index, strict=True))
        for node in root.src:
            offset = _offset(node.attr[0], [position[name] for name in names])
            if offset is not None:
                value = _value(node.src[1], position, buffers, sizes)
                result[node.src[0].attr[0]][offset] = value
    return result


def _below(root: Node) -> list[Node]:
    return [root, *[node for child in root.src for node in _below(child)]]


def _reduces(node: Node, name: str) -> bool:
    return node.op is Op.REDUCE and name in node.attr[1]


def _value(node: Node, position: dict[str, int], buffers: Mapping[int, np.ndarray], sizes: dict):
    dtype = numpy_dtype(node.dtype) if node.dtype is not VOID else None
    names = list(position)
    if node.op is Op.GATHER:
        table = buffers[node.src[0].attr[0]]
        place = int(_value(node.src[1], position, buffers, sizes))
        return table[place] if 0 <= place < node.src[0].attr[1] else np.zeros((), dtype)
    if node.op in (Op.LOAD, Op.CONST, Op.INDEX):
        stack = node.attr[-1]
        offset = 0 if stack is None else _offset(stack, [position[name] for name in names])
        if offset is None:
            return np.zeros((), dtype)
        if node.op is Op.INDEX:
            return np.asarray(offset, dtype)
        if node.op is Op.CONST:
            return np.asarray(node.value, dtype)
        return buffers[node.src[0].attr[0]][offset]
    if node.op is Op.REDUCE:
        op, axes = node.attr
        total = np.asarray(identity(op, node.dtype), dtype)
        for index in itertools.product(*[range(sizes[axis]) for axis in axes]):
            inner = position | dict(zip(axes, index, strict=True))
            term = np.asarray(_value(node.src[0], inner, buffers, sizes))
            total = apply(op, node.dtype, node.dtype, total, term)
        return total
    sources = [np.asarray(_value(child, position, buffers, sizes)) for child in node.src]
    return apply(node.op, node.dtype, node.src[0].dtype, *sources)


def _offset(stack: ViewStack, index: list[int]) -> int | None:
    flat = 0
    for number, view in enumerate(reversed(stack.views)):
        if number > 0:
            index = [int(i) for i in np.unravel_index(flat, view.shape)]
        mask = view.mask or tuple((0, size) for size in view.shape)
        if not all(low <= i < high for i, (low, high) in zip(index, mask, strict=True)):
            return None
        flat = view.offset + sum(i * s for i, s in zip(index, view.strides, strict=True))
    return flat
