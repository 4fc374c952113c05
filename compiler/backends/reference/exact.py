"""Plain arrays as values: every op as the IR says, sums in float64 and rounded once."""

from collections.abc import Callable

import numpy as np

from compiler.backends.reference.algebra import Extents
from compiler.backends.reference.arithmetic import (
    Array,
    apply,
    identity,
    numpy_dtype,
    round_to,
)
from compiler.backends.reference.contract import repeat, sum_products
from compiler.backends.reference.views import gather
from compiler.ir import DType, Node, Op

_REDUCERS: dict[Op, Callable[..., Array]] = {
    Op.ADD: np.add.reduce,
    Op.MUL: np.multiply.reduce,
    Op.MAX: np.maximum.reduce,
    Op.MIN: np.minimum.reduce,
    Op.AND: np.bitwise_and.reduce,
    Op.OR: np.bitwise_or.reduce,
    Op.XOR: np.bitwise_xor.reduce,
}
EXACT_PRODUCTS = 2**53  # integers below it are exact in float64


class Exact:
    """Arrays in the NumPy dtype of each node; a partial float reduction is float64."""

    def memory(self, dtype: DType, flat: Array) -> Array:
        return flat

    def load(self, dtype: DType, array: Array) -> Array:
        return array

    def gather(self, dtype: DType, flat: Array, offset: Array) -> Array:
        return gather(flat, offset)

    def constant(self, dtype: DType, array: Array) -> Array:
        return array

    def apply(self, node: Node, *values: Array) -> Array:
        return apply(node.op, node.dtype, node.src[0].dtype, *values)

    def reduce(self, op: Op, dtype: DType, value: Array, extents: Extents) -> Array:
        if dtype.is_float:
            value = value.astype(np.float64, copy=False)
        whole = repeat(value, extents)
        axes = tuple([axis for axis, _ in extents])
        with np.errstate(all="ignore"):
            if 0 in [size for _, size in extents]:
                shape = [1 if axis in axes else size for axis, size in enumerate(whole.shape)]
                return np.full(shape, identity(op, dtype), whole.dtype)
            if op in (Op.MAX, Op.MIN):
                return np.asarray(_REDUCERS[op](whole, axis=axes, keepdims=True))
            return np.asarray(_REDUCERS[op](whole, axis=axes, keepdims=True, dtype=whole.dtype))

    def contract(self, dtype: DType, a: Array, b: Array, extents: Extents) -> Array | None:
        if dtype.bits == 16 and dtype.is_float:
            return None  # every product is rounded
        count = 1
        for _, size in extents:
            count *= size
        if count == 0 or a.size == 0 or b.size == 0:
            return None
        limit = _largest(a) * _largest(b)
        if dtype.is_float:
            safe = limit < float(np.finfo(numpy_dtype(dtype)).max) / 2  # also false for NaN
        else:
            safe = limit * count < EXACT_PRODUCTS
        if not safe:
            return None
        total = sum_products(a.astype(np.float64), b.astype(np.float64), extents)
        return total if dtype.is_float else total.astype(np.int64).astype(numpy_dtype(dtype))

    def products(self, node: Node, a: Array, b: Array) -> Array:
        return self.apply(node, a, b)

    def join(self, op: Op, dtype: DType, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            both = np.stack(np.broadcast_arrays(a, b))
            if op in (Op.MAX, Op.MIN):
                return np.asarray(_REDUCERS[op](both, axis=0))
            return np.asarray(_REDUCERS[op](both, axis=0, dtype=both.dtype))

    def finish(self, op: Op, dtype: DType, partial: Array) -> Array:
        return round_to(dtype, partial) if dtype.is_float else partial


def _largest(value: Array) -> int | float:
    """The greatest magnitude; NaN where one is there."""
    if value.dtype.kind in "iu":
        return max(abs(int(value.max())), abs(int(value.min())))
    return float(np.abs(value).max())
