"""Values made of nothing: constants, and numbers that count, which lie in no memory."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from compiler.backends import find_backend
from compiler.errors import NumberError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions.elementwise import add, equal, less_equal, multiply, where
from compiler.frontend.graph import Number, Value
from compiler.frontend.shapes import as_int, as_number, as_shape
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import INTEGERS, BoundSize, largest, maximum
from compiler.ir import FLOAT64, INT32, INT64, DType

Sizes: TypeAlias = int | Sequence[int]
DEFAULT_DEVICE = "llvm"


def _name(device: str | None) -> str:
    return find_backend(DEFAULT_DEVICE if device is None else device).name


def full(
    shape: Sizes, fill_value: Number, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Value:
    """One number everywhere."""
    number = as_number(fill_value, "fill value")
    found = dtypes.of_number(number) if dtype is None else dtypes.as_dtype(dtype)
    return graph.full(dtypes.held(number, found), found, as_shape(shape), _name(device))


def zeros(shape: Sizes, *, dtype: DTypeLike | None = None, device: str | None = None) -> Value:
    """0 everywhere."""
    return full(shape, 0, dtype=FLOAT64 if dtype is None else dtype, device=device)


def ones(shape: Sizes, *, dtype: DTypeLike | None = None, device: str | None = None) -> Value:
    """1 everywhere."""
    return full(shape, 1, dtype=FLOAT64 if dtype is None else dtype, device=device)


def full_like(
    x: Value, fill_value: Number, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Value:
    """One number everywhere, in the shape of `x`."""
    found = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    name = x.device if device is None else _name(device)
    number = dtypes.held(as_number(fill_value, "fill value"), found)
    return graph.full(number, found, x.shape, name)


def zeros_like(x: Value, *, dtype: DTypeLike | None = None, device: str | None = None) -> Value:
    """0 everywhere, in the shape of `x`."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Value, *, dtype: DTypeLike | None = None, device: str | None = None) -> Value:
    """1 everywhere, in the shape of `x`."""
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Value:
    """start, start + step, ... before stop."""
    given = {"start": start, "stop": stop, "step": step}
    numbers = [as_number(0 if n is None else n, f"arange {name}") for name, n in given.items()]
    first, last, each = numbers if stop is not None else (0, numbers[0], numbers[2])
    if each == 0:
        raise ShapeError("arange: step is 0, it never comes to the stop")
    if any(isinstance(number, BoundSize) for number in numbers):
        return _symbolic_numbers(first, last, each, dtype, _name(device))
    if all(isinstance(number, int) for number in numbers):
        return _whole_numbers(range(int(first), int(last), int(each)), dtype, _name(device))
    found = FLOAT64 if dtype is None else dtypes.as_dtype(dtype)
    try:
        array = np.arange(first, last, each).astype(dtypes.to_numpy(found))
    except ValueError as error:  # too many, or NaN
        raise ShapeError(f"arange of {first} to {last} by {each}: {error}") from None
    return from_array(array, _name(device))


def _symbolic_numbers(
    first: Number, last: Number, each: Number, dtype: DTypeLike | None, device: str
) -> Value:
    """Whole numbers, how many of which there are is known when a kernel runs."""
    whole = [number for number in (first, last, each) if isinstance(number, INTEGERS)]
    if isinstance(each, BoundSize) or len(whole) < 3:
        raise ShapeError(f"arange {first} to {last} by {each}: a symbolic size needs whole steps")
    start, stop, step = whole
    found = INT64 if dtype is None else dtypes.as_dtype(dtype)
    distance = stop - start if step > 0 else start - stop
    counted = counting(maximum(-(-distance // abs(step)), 0), device, found)
    return add(multiply(counted, graph.full(step, found, counted.shape, device)), start)


def _whole_numbers(numbers: range, dtype: DTypeLike | None, device: str) -> Value:
    """Computed where they are read, in no memory."""
    found = INT64 if dtype is None else dtypes.as_dtype(dtype)
    most = 2**64 if found.is_int else 2**63
    if max(-numbers.start, -numbers.stop, numbers.start, numbers.stop) > most:
        raise NumberError("arange: its numbers are beyond 64 bits, use smaller ones")
    if not numbers:
        return graph.full(0, found, (0,), device)
    for end in (numbers[0], numbers[-1]):
        dtypes.with_number(found, end)
    if not found.is_int:
        array = np.arange(numbers.start, numbers.stop, numbers.step)
        return from_array(array.astype(dtypes.to_numpy(found)), device)
    count = (numbers[-1] - numbers[0]) // numbers.step + 1
    counted = counting(count, device, found)
    step = graph.full(numbers.step, found, counted.shape, device)
    return add(multiply(counted, step), numbers.start)


def linspace(
    start: float,
    stop: float,
    num: int,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Value:
    """`num` numbers at equal distances."""
    ends = [as_number(end, "linspace end") for end in (start, stop)]
    count = as_int(num, "num")
    if not 0 <= count < 2**32:
        raise ShapeError(f"linspace of {count} numbers: they lie in memory, use 0 or more")
    found = FLOAT64 if dtype is None else dtypes.as_dtype(dtype)
    array = np.linspace(float(ends[0]), float(ends[1]), count, endpoint=endpoint)
    array = np.floor(array) if found.is_int else array  # as NumPy has it
    return from_array(array.astype(dtypes.to_numpy(found)), _name(device))


def counting(length: int, device: str, dtype: DType | None = None) -> Value:
    """0 to length - 1; int32 where it is enough, unless `dtype` is given."""
    narrow = INT32 if largest(length) <= int(INT32.highest) else INT64
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
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Value:
    """1 on the k-th diagonal, 0 elsewhere."""
    columns = as_int(n_rows if n_cols is None else n_cols, "n_cols")
    one = ones((n_rows, columns), dtype=dtype, device=device)
    on_diagonal = equal(add(arange_like(one, 0), _near(one, k)), arange_like(one, 1))
    return where(on_diagonal, one, full_like(one, 0))


def tril(x: Value, k: int = 0) -> Value:
    """Zero above the k-th diagonal of the last two axes."""
    return where(_reaches_diagonal(x, k), x, full_like(x, 0))


def triu(x: Value, k: int = 0) -> Value:
    """Zero below the k-th diagonal of the last two axes."""
    return where(_reaches_diagonal(x, as_int(k, "k") - 1), full_like(x, 0), x)


def _reaches_diagonal(x: Value, k: int) -> Value:
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape}: a matrix has at least two dimensions")
    row, column = arange_like(x, x.ndim - 2), arange_like(x, x.ndim - 1)
    return less_equal(column, add(row, _near(x, k)))


def _near(x: Value, k: int) -> int:
    """The number of a diagonal, or of one beyond the last where it lies farther out."""
    farthest = sum(x.shape[-2:])
    return max(-farthest, min(as_int(k, "k"), farthest))
