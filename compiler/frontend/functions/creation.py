"""Values made of nothing: constants, and numbers that count, which lie in no memory."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from compiler.backends import find_backend
from compiler.errors import ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions.elementwise import add, equal, less_equal, where
from compiler.frontend.graph import Number, Value
from compiler.frontend.shapes import as_int, as_shape
from compiler.frontend.storage import from_array
from compiler.ir import FLOAT64, INT32, INT64, DType

Sizes: TypeAlias = int | Sequence[int]


def full(
    shape: Sizes, fill_value: Number, *, dtype: DTypeLike | None = None, device: str = "llvm"
) -> Value:
    """One number everywhere."""
    found = dtypes.of_number(fill_value) if dtype is None else dtypes.as_dtype(dtype)
    return graph.full(fill_value, found, as_shape(shape), find_backend(device).name)


def zeros(shape: Sizes, *, dtype: DTypeLike = FLOAT64, device: str = "llvm") -> Value:
    """0 everywhere."""
    return full(shape, 0, dtype=dtype, device=device)


def ones(shape: Sizes, *, dtype: DTypeLike = FLOAT64, device: str = "llvm") -> Value:
    """1 everywhere."""
    return full(shape, 1, dtype=dtype, device=device)


def full_like(x: Value, fill_value: Number, *, dtype: DTypeLike | None = None) -> Value:
    """One number everywhere, in the shape of `x`."""
    found = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    return graph.full(fill_value, found, x.shape, x.device)


def zeros_like(x: Value, *, dtype: DTypeLike | None = None) -> Value:
    """0 everywhere, in the shape of `x`."""
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Value, *, dtype: DTypeLike | None = None) -> Value:
    """1 everywhere, in the shape of `x`."""
    return full_like(x, 1, dtype=dtype)


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str = "llvm",
) -> Value:
    """start, start + step, ... before stop."""
    if step == 0:
        raise ShapeError("arange: step is 0, it never comes to the stop")
    first, last = (0, start) if stop is None else (start, stop)
    array = np.arange(first, last, step)
    found = dtypes.as_dtype(array.dtype if dtype is None else dtype)
    return from_array(array.astype(dtypes.to_numpy(found)), find_backend(device).name)


def linspace(
    start: float,
    stop: float,
    num: int,
    *,
    endpoint: bool = True,
    dtype: DTypeLike = FLOAT64,
    device: str = "llvm",
) -> Value:
    """`num` numbers at equal distances."""
    array = np.linspace(start, stop, num, endpoint=endpoint)
    return from_array(
        array.astype(dtypes.to_numpy(dtypes.as_dtype(dtype))), find_backend(device).name
    )


def counting(length: int, device: str, dtype: DType | None = None) -> Value:
    """0 to length - 1; int32 where it is enough, unless `dtype` is given."""
    narrow = INT32 if length <= int(INT32.highest) else INT64
    wanted = narrow if dtype is None else dtype
    exact = wanted if wanted in (INT32, INT64) else narrow
    return graph.cast(graph.count((length,), exact, device), wanted)


def arange_like(x: Value, axis: int) -> Value:
    """The place of each element of `x` along an axis, in the shape of `x`."""
    column = graph.reshape(
        counting(x.shape[axis], x.device), (x.shape[axis],) + (1,) * (x.ndim - axis - 1)
    )
    return graph.expand(graph.reshape(column, (1,) * axis + column.shape), x.shape)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    *,
    k: int = 0,
    dtype: DTypeLike = FLOAT64,
    device: str = "llvm",
) -> Value:
    """1 on the k-th diagonal, 0 elsewhere."""
    columns = as_int(n_rows if n_cols is None else n_cols, "n_cols")
    one = full((n_rows, columns), 1, dtype=dtype, device=device)
    on_diagonal = equal(add(arange_like(one, 0), k), arange_like(one, 1))
    return where(on_diagonal, one, 0)


def tril(x: Value, k: int = 0) -> Value:
    """Zero above the k-th diagonal of the last two axes."""
    return where(_reaches_diagonal(x, k), x, full_like(x, 0))


def triu(x: Value, k: int = 0) -> Value:
    """Zero below the k-th diagonal of the last two axes."""
    return where(_reaches_diagonal(x, k - 1), full_like(x, 0), x)


def _reaches_diagonal(x: Value, k: int) -> Value:
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape}: a matrix has at least two dimensions")
    row, column = arange_like(x, x.ndim - 2), arange_like(x, x.ndim - 1)
    return less_equal(column, add(row, k))
