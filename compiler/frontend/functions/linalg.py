"""Products of matrices and vectors. 16-bit floats are multiplied and summed in float32."""

from collections.abc import Sequence

from compiler.errors import ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.movement import expand_dims, matrix_transpose, reshape
from compiler.frontend.graph import Kind, Value
from compiler.frontend.operands import Operand, as_value, broadcast_to, device_of
from compiler.frontend.shapes import as_axes, as_axis, as_int, broadcast
from compiler.frontend.symbolic import largest
from compiler.ir import BOOL, DType, Op


def _operands(x1: Operand, x2: Operand) -> tuple[Value, Value, DType]:
    device = device_of([x1, x2])
    a, b = as_value(x1, device), as_value(x2, device)
    dtype = dtypes.promote(a.dtype, b.dtype)
    wide = dtypes.accumulator(dtype)
    return graph.cast(a, wide), graph.cast(b, wide), dtype


LONG_SUM = 512  # more lines of a cache than that do not stay in it while they are used
REUSED = 64  # results per element, from which on a copy costs nothing to speak of


def _rows(a: Value, columns: int) -> Value:
    """The left operand, stored row by row where it is the transpose of what lies in memory.

    Each term of a sum would lie in another line of the cache, and be fetched again for every few
    columns of the result.
    """
    is_transposed = a.kind is Kind.PERMUTE and a.arg[-1] != a.ndim - 1
    if is_transposed and largest(a.shape[-1]) > LONG_SUM and largest(columns) >= REUSED:
        return graph.contiguous(a)
    return a


def _sum_of_products(a: Value, b: Value, axes: tuple[int, ...]) -> Value:
    """sum(a * b) over axes of equally shaped values; or(a and b) of bools."""
    is_bool = a.dtype is BOOL
    product = graph.elementwise(Op.AND if is_bool else Op.MUL, a, b)
    return graph.reduce(Op.OR if is_bool else Op.ADD, product, axes)


def _of_matrices(a: Value, b: Value) -> Value:
    """What `matmul` makes of two matrices, without looking for other cases."""
    shape = (a.shape[0], b.shape[1], a.shape[1])
    rows = graph.reshape(_rows(a, shape[1]), (shape[0], 1, shape[2]))
    columns = graph.reshape(graph.permute(b, (1, 0)), (1, *shape[1:]))
    return _sum_of_products(graph.expand(rows, shape), graph.expand(columns, shape), (2,))


def matmul(x1: Operand, x2: Operand) -> Value:
    """The matrix product over the last two axes, broadcast over the others; vectors as NumPy."""
    a, b, dtype = _operands(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul of {a.shape} and {b.shape}: a number has no axis to sum over")
    if a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0]:
        return graph.cast(_of_matrices(a, b), dtype)
    left = _rows(a, b.shape[-1]) if a.ndim > 1 else expand_dims(a, 0)
    right = matrix_transpose(b if b.ndim > 1 else expand_dims(b, 1))
    if left.shape[-1] != right.shape[-1]:
        raise ShapeError(
            f"matmul of {a.shape} and {b.shape}: sums over {left.shape[-1]} and {right.shape[-1]}"
        )
    left, right = expand_dims(left, -2), expand_dims(right, -3)
    shape = broadcast(left.shape, right.shape)
    product = _sum_of_products(
        broadcast_to(left, shape), broadcast_to(right, shape), (len(shape) - 1,)
    )
    dropped = [axis for axis, x in ((-2, a), (-1, b)) if x.ndim == 1]
    kept = tuple([n for i, n in enumerate(product.shape) if i - product.ndim not in dropped])
    return graph.cast(graph.reshape(product, kept), dtype)


def vecdot(x1: Operand, x2: Operand, axis: int = -1) -> Value:
    """The sum of products along one axis."""
    a, b, dtype = _operands(x1, x2)
    shape = broadcast(a.shape, b.shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    return graph.cast(_sum_of_products(a, b, (as_axis(axis, len(shape)),)), dtype)


def outer(x1: Operand, x2: Operand) -> Value:
    """All products of two flattened arrays."""
    a, b, dtype = _operands(x1, x2)
    column, row = reshape(a, (a.size, 1)), reshape(b, (1, b.size))
    shape = (a.size, b.size)
    op = Op.AND if dtype is BOOL else Op.MUL
    product = graph.elementwise(op, broadcast_to(column, shape), broadcast_to(row, shape))
    return graph.cast(product, dtype)


def _summed_axes(
    axes: int | Sequence[Sequence[int]], a: Value, b: Value
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not isinstance(axes, Sequence):
        count = as_int(axes, "axes")
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot of {a.shape} and {b.shape}: have no {count} axes")
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(axes) != 2:
        raise ShapeError(f"tensordot over {axes}: needs axes of both operands")
    return as_axes(axes[0], a.ndim), as_axes(axes[1], b.ndim)


def tensordot(x1: Operand, x2: Operand, axes: int | Sequence[Sequence[int]] = 2) -> Value:
    """The sum of products over pairs of axes: the last n and first n, or those named."""
    a, b, dtype = _operands(x1, x2)
    left, right = _summed_axes(axes, a, b)
    sizes = [a.shape[i] for i in left], [b.shape[i] for i in right]
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"tensordot of {a.shape} and {b.shape}: sums over {sizes[0]} and {sizes[1]}"
        )
    kept_a = [i for i in range(a.ndim) if i not in left]
    kept_b = [i for i in range(b.ndim) if i not in right]
    rows = graph.permute(a, (*kept_a, *left))
    columns = graph.permute(b, (*kept_b, *right))
    shape_a, shape_b = [a.shape[i] for i in kept_a], [b.shape[i] for i in kept_b]
    shape = (*shape_a, *shape_b, *sizes[0])
    rows = reshape(rows, (*shape_a, *([1] * len(shape_b)), *sizes[0]))
    columns = reshape(columns, (*([1] * len(shape_a)), *shape_b, *sizes[0]))
    summed = tuple(range(len(kept_a) + len(kept_b), len(shape)))
    product = _sum_of_products(broadcast_to(rows, shape), broadcast_to(columns, shape), summed)
    return graph.cast(product, dtype)
