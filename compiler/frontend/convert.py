"""Between tensors and Python's and NumPy's own objects."""

from collections.abc import Iterator
from operator import index
from typing import Any

import numpy as np

from compiler.backends import find_backend
from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions.elementwise import equal
from compiler.frontend.functions.indexing import getitem
from compiler.frontend.functions.reduce import any_
from compiler.frontend.graph import Number, Value
from compiler.frontend.operands import Operand
from compiler.frontend.realize import to_numpy
from compiler.frontend.storage import Array, from_array
from compiler.frontend.symbolic import fixed


def from_data(data: object, dtype: DTypeLike | None, device: str) -> Value:
    """A snapshot of an array, a number or nested lists; without `dtype`, in NumPy's for them."""
    name = find_backend(device).name
    try:
        array = np.asarray(data)
    except ValueError as error:  # lists of different lengths
        raise ShapeError(f"tensor of {type(data).__name__}: {error}") from None
    if dtype is None:
        return from_array(array, name)
    wanted = dtypes.as_dtype(dtype)
    if array.dtype == object or isinstance(data, bool | int | float | list | tuple):
        return from_array(_as_numbers(data, array, dtypes.to_numpy(wanted)), name)
    return graph.cast(from_array(array, name), wanted)


def _as_numbers(data: object, array: Array, wanted: np.dtype[Any]) -> Array:
    """Python numbers straight in the wanted dtype: 2**64 - 1 is no int64 on the way."""
    try:
        return np.asarray(data, wanted)
    except OverflowError as error:
        raise DTypeError(f"tensor of {wanted}: {error}") from None
    except (TypeError, ValueError):
        raise DTypeError(f"tensor of {array.dtype}: its elements are not numbers") from None


def to_device(x: Value, device: str) -> Value:
    """The same elements on another device."""
    name = find_backend(device).name
    return x if name == x.device else from_array(to_numpy(x), name)


def to_array(x: Value, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: ANN401, FBT001  # NumPy's protocol
    """The elements as a new array; for `np.asarray`."""
    if copy is False:
        raise ShapeError("array of a tensor: is always a copy, leave out copy=False")
    try:
        wanted = dtypes.to_numpy(x.dtype) if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):  # ValueError: what has a `dtype` that is none
        raise DTypeError(f"array of dtype {dtype!r:.40}: NumPy has none like it") from None
    return to_numpy(x).astype(wanted, copy=False)


def item(x: Value) -> Number:
    """The only element as a Python number."""
    if x.size != 1:
        raise ShapeError(f"item of shape {x.shape}: has {x.size} elements, expected one")
    found: Number = to_numpy(x).reshape(()).item()
    return found


def as_bool(x: Value) -> bool:
    """The truth of the only element."""
    return bool(item(x))


def contains(x: Value, number: Operand) -> bool:
    """Whether an element equals a number, or any of the two arrays' elements where they meet.

    Text, None and other things that are no real number are held against each element by Python.
    """
    try:
        return as_bool(any_(equal(x, number)))
    except DTypeError:
        if isinstance(number, list | tuple | np.ndarray):
            raise
        return number in to_numpy(x).reshape(-1).tolist()


def as_int(x: Value) -> int:
    """The only element as an int."""
    return int(item(x))


def as_float(x: Value) -> float:
    """The only element as a float."""
    return float(item(x))


def as_index(x: Value) -> int:
    """The only element, an integer, as an index."""
    if not x.dtype.is_int:
        raise DTypeError(f"index of {x.dtype}: only integers count")
    return index(int(item(x)))


def to_list(x: Value) -> Any:  # noqa: ANN401  # nested as deeply as the shape
    """Nested lists of Python numbers."""
    return to_numpy(x).tolist()


def length(x: Value) -> int:
    """The size of the first axis."""
    if x.ndim == 0:
        raise DTypeError("len of shape (): has no axis")
    return fixed(x.shape[0])


def rows(x: Value) -> Iterator[Value]:
    """The parts along the first axis."""
    return (getitem(x, i) for i in range(length(x)))
