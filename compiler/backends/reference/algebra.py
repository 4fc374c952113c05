"""What the walk over a kernel needs of its values: plain arrays, or arrays with error bounds."""

from typing import Protocol, TypeAlias, TypeVar

from compiler.backends.reference.arithmetic import Array
from compiler.ir import DType, Node, Op

V = TypeVar("V")
P = TypeVar("P")  # partial reductions
Extents: TypeAlias = tuple[tuple[int, int], ...]  # array dimension and how many positions it has


class Algebra(Protocol[V, P]):
    """Values V cover a box.

    A reduction leaves its axes with size 1. A value that does not depend on an axis is repeated.
    """

    def memory(self, dtype: DType, flat: Array) -> Array:
        """The form of a buffer that `load` takes pieces of; made once per buffer."""

    def load(self, dtype: DType, array: Array) -> V:
        """A value from a piece of a buffer."""

    def gather(self, dtype: DType, flat: Array, offset: V) -> V:
        """The elements of a buffer at computed offsets; 0 outside of it."""

    def constant(self, dtype: DType, array: Array) -> V:
        """A value from exact numbers of `dtype`."""

    def apply(self, node: Node, *values: V) -> V:
        """An elementwise op."""

    def reduce(self, op: Op, dtype: DType, value: V, extents: Extents) -> P:
        """A partial reduction, not yet rounded to `dtype`."""

    def contract(self, dtype: DType, a: V, b: V, extents: Extents) -> P | None:
        """The partial sum of a * b over `extents`; None where the plain way is the right one."""

    def products(self, node: Node, a: V, b: V) -> V:
        """The terms of a sum of products, `node` being the MUL."""

    def join(self, op: Op, dtype: DType, a: P, b: P) -> P:
        """Two partial reductions over neighbouring intervals as one."""

    def finish(self, op: Op, dtype: DType, partial: P) -> V:
        """The value of a whole reduction."""
