"""Numbers of small values that the host knows, and of which one is symbolic."""

from collections.abc import Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from compiler.frontend import dtypes, graph
from compiler.frontend.functions import movement
from compiler.frontend.graph import Value
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import is_symbolic
from compiler.ir import INT64, DType

Numbers: TypeAlias = npt.NDArray[Any]  # of Python's numbers and of symbolic sizes
_known: WeakKeyDictionary[Value, Numbers] = WeakKeyDictionary()  # filled by `value_of` alone


def value_of(numbers: Numbers, dtype: DType, device: str) -> Value:
    """A value with these numbers, which `numbers_of` finds again."""
    flat = numbers.reshape(-1).tolist()
    if not any(is_symbolic(number) for number in flat):
        return from_array(numbers.astype(dtypes.to_numpy(dtype)), device)
    parts = [graph.full(number, dtype, (1,), device) for number in flat]
    value = graph.reshape(movement.concat(parts), numbers.shape)
    _known[value] = numbers
    return value


def numbers_of(value: Value) -> Numbers | None:
    """The numbers of a value of which one is symbolic; None of any other."""
    return _known.get(value)


def shape_of(shape: Sequence[int], device: str) -> Value:
    """Sizes as a value."""
    numbers = np.empty(len(shape), object)
    numbers[:] = shape
    return value_of(numbers, INT64, device)


def size_of(size: int, device: str) -> Value:
    """One size as a value without axes."""
    number = np.empty((), object)
    number[()] = size
    return value_of(number, INT64, device)
