"""A correct implementation that rounds as unluckily as docs/ir.md lets it."""

import numpy as np

from compiler.backends.reference.algebra import Extents
from compiler.backends.reference.arithmetic import (
    FUNCTIONS,
    apply,
    fused_multiply_add,
    identity,
    numpy_dtype,
    round_to,
    transcendental,
)
from compiler.backends.reference.bounds.approx import FORMATS
from compiler.backends.reference.bounds.functions import NATIVE_ULP, ULP_16
from compiler.backends.reference.contract import repeat
from compiler.backends.reference.evaluation import read_memory, written_slots
from compiler.backends.reference.exact import Exact
from compiler.backends.reference.kernel import Domain
from compiler.backends.reference.views import store
from compiler.ir import DType, Node, Op


class Adversary(Exact):
    """Sums in a random order and in the dtype, fuses products or not, errs in functions."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def apply(self, node: Node, *values: np.ndarray) -> np.ndarray:
        if node.op not in FUNCTIONS:
            return super().apply(node, *values)
        dtype = node.dtype
        unit = np.finfo(np.float64).eps / 2 if dtype.bits == 64 else FORMATS[dtype].unit
        ulp = (ULP_16 if dtype.bits == 16 else NATIVE_ULP[node.op]) - 0.5  # then it rounds
        with np.errstate(all="ignore"):
            exact = transcendental(FUNCTIONS[node.op])(*[v.astype(np.float64) for v in values])
            moved = exact * (1 + self.rng.uniform(-1, 1, exact.shape) * ulp * unit)
            return round_to(dtype, moved.astype(np.float64))

    def reduce(self, op: Op, dtype: DType, value: np.ndarray, extents: Extents) -> np.ndarray:
        terms = self._terms(value, extents)
        total = np.full(terms.shape[1:], identity(op, dtype)).astype(numpy_dtype(dtype))
        for index in self.rng.permutation(len(terms)):
            total = apply(op, dtype, dtype, total, terms[index])
        return total

    def contract(self, dtype: DType, a: np.ndarray, b: np.ndarray, extents: Extents):
        if not dtype.is_float or self.rng.integers(2):
            return None
        shape = np.broadcast_shapes(a.shape, b.shape)
        x, y = (self._terms(np.broadcast_to(v, shape), extents) for v in (a, b))
        total = np.zeros(x.shape[1:], numpy_dtype(dtype))
        for index in self.rng.permutation(len(x)):
            total = fused_multiply_add(dtype, x[index], y[index], total)
        return total

    def _terms(self, value: np.ndarray, extents: Extents) -> np.ndarray:
        """The terms of each sum along a new first dimension; reduced ones stay with size 1."""
        whole, axes = repeat(value, extents), [axis for axis, _ in extents]
        moved = np.moveaxis(whole, axes, range(len(axes)))
        flat = moved.reshape(-1, *moved.shape[len(axes) :])
        return np.expand_dims(flat, tuple(1 + axis for axis in sorted(axes)))

    def join(self, op: Op, dtype: DType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return apply(op, dtype, dtype, a, b)


def implement(root: Node, buffers: dict[int, np.ndarray], seed: int) -> dict[int, np.ndarray]:
    """One correct run of an AST; other seeds give others."""
    memory, _ = read_memory(root, buffers, {})
    result = {slot: memory[slot].copy() for slot in written_slots(root)}
    for piece in Domain(root, memory, {}, Adversary(seed)).pieces():
        store(result[piece.store.src[0].attr[0]], piece.stack, piece.box, piece.value)
    return result
