"""What may stand beside a tensor in an operation, brought to one dtype and one shape."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from compiler.errors import DeviceError, DTypeError, ShapeError
from compiler.frontend import dtypes, graph, symbolic
from compiler.frontend.graph import Number, Shape, Value
from compiler.frontend.shapes import as_int, as_place, broadcast
from compiler.frontend.storage import from_array
from compiler.ir import DType


class HasValue(Protocol):
    """A tensor: the methods of Tensor unwrap it before a function of this package sees it."""

    value: Value


Operand: TypeAlias = Value | HasValue | Number | npt.NDArray[Any] | np.generic | Sequence[Any]


def is_number(operand: object) -> TypeGuard[Number]:
    """Whether this is a Python number, which adapts to the dtype of the others."""
    return symbolic.is_number(operand) and not isinstance(operand, np.generic)


def as_value(operand: Operand, device: str) -> Value:
    """A value of its own dtype on `device`. Raises DTypeError for what is no array."""
    if isinstance(operand, Value):
        return operand
    if is_number(operand):
        return graph.full(
            operand, dtypes.with_number(dtypes.of_number(operand), operand), (), device
        )
    try:
        array = np.asarray(operand)
    except ValueError as error:
        raise DTypeError(f"operand {type(operand).__name__}: is no array, {error}") from None
    return from_array(array, device)


def as_places(operand: Operand, size: int, axis: int, device: str) -> Value:
    """Places on an axis. Raises IndexingError for one outside of it that is known to the host."""
    places = as_value(operand, device)
    if not isinstance(operand, Value) and places.dtype.is_int and places.size:
        numbers = np.asarray(operand)
        for number in [operand] if is_number(operand) else [numbers.min(), numbers.max()]:
            as_place(as_int(number, "index"), size, axis)
    return places


def as_filling(operand: Operand, dtype: DType, device: str) -> Value:
    """What is put into elements of `dtype`, in it. Raises where a number is none of its own."""
    if is_number(operand):
        return graph.full(dtypes.held(operand, dtype), dtype, (), device)
    return graph.cast(as_value(operand, device), dtype)


def require_values(what: str, *operands: object) -> None:
    """Raise DTypeError, naming `what` they are, unless all of them are values."""
    for operand in operands:
        if not isinstance(operand, Value):
            raise DTypeError(f"{what} of {type(operand).__name__}: use a tensor")


def align(*operands: Operand) -> tuple[Value, ...]:
    """The operands, of which at least one is a value, with one dtype and one shape."""
    device = device_of(operands)
    typed = _typed(operands, device)
    dtype = _one_dtype(operands, typed)
    shape = broadcast(*[value.shape for value in typed if value is not None])
    found: list[Value] = []
    for operand, value in zip(operands, typed, strict=True):
        if value is None:
            found.append(graph.full(operand, dtype, shape, device))  # type: ignore[arg-type]  # it is a number, see `_typed`
        else:
            found.append(broadcast_to(graph.cast(value, dtype), shape))
    return tuple(found)


def common_dtype(*operands: Operand) -> DType:
    """The dtype that `align` brings the operands to."""
    return _one_dtype(operands, _typed(operands, device_of(operands)))


def _typed(operands: Sequence[Operand], device: str) -> list[Value | None]:
    """The operands that have a dtype of their own; None for numbers."""
    return [
        operand
        if isinstance(operand, Value)
        else None
        if is_number(operand)
        else as_value(operand, device)
        for operand in operands
    ]


def _one_dtype(operands: Sequence[Operand], typed: Sequence[Value | None]) -> DType:
    found = [value.dtype for value in typed if value is not None]
    dtype = found[0]
    for other in found[1:]:
        dtype = dtypes.promote(dtype, other)
    for operand, value in zip(operands, typed, strict=True):
        if value is None:
            dtype = dtypes.with_number(dtype, operand)  # type: ignore[arg-type]  # it is a number, see `_typed`
    return dtype


def device_of(operands: Sequence[object]) -> str:
    """The one device of the values among the operands.

    Raises DeviceError if there are two, DTypeError if none of the operands is a tensor.
    """
    found = [operand.device for operand in operands if isinstance(operand, Value)]
    if not found:
        listed = " and ".join(type(operand).__name__ for operand in operands)
        raise DTypeError(f"operands {listed}: none of them is a tensor")
    if found.count(found[0]) < len(found):
        listed = " and ".join(dict.fromkeys(found))
        raise DeviceError(f"operands are on {listed}: bring them together with .to(device)")
    return found[0]


def broadcast_to(value: Value, shape: Shape) -> Value:
    """The value repeated along missing axes and those of size 1. Raises ShapeError."""
    if value.shape == shape:
        return value
    if len(value.shape) > len(shape) or broadcast(value.shape, shape) != shape:
        raise ShapeError(f"shape {value.shape}: does not broadcast to {shape}")
    ones = (1,) * (len(shape) - value.ndim)
    return graph.expand(graph.reshape(value, ones + value.shape), shape)
