"""What may stand beside a tensor in an operation, brought to one dtype and one shape."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from compiler.errors import DeviceError, DTypeError, ShapeError
from compiler.frontend import dtypes, graph, symbolic
from compiler.frontend.graph import Number, Shape, Value
from compiler.frontend.shapes import broadcast
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
        return graph.full(operand, dtypes.of_number(operand), (), device)
    try:
        array = np.asarray(operand)
    except ValueError as error:
        raise DTypeError(f"operand {type(operand).__name__}: is no array, {error}") from None
    return from_array(array, device)


def require_values(what: str, *operands: object) -> None:
    """Raise DTypeError, naming `what` they are, unless all of them are values."""
    for operand in operands:
        if not isinstance(operand, Value):
            raise DTypeError(f"{what} of {type(operand).__name__}: use a tensor")


def align(*operands: Operand) -> tuple[Value, ...]:
    """The operands, of which at least one is a value, with one dtype and one shape."""
    dtype, values = _with_one_dtype(operands)
    shape = broadcast(*[value.shape for value in values])
    return tuple([broadcast_to(graph.cast(value, dtype), shape) for value in values])


def common_dtype(*operands: Operand) -> DType:
    """The dtype that `align` brings the operands to."""
    return _with_one_dtype(operands)[0]


def _with_one_dtype(operands: Sequence[Operand]) -> tuple[DType, list[Value]]:
    device = device_of(operands)
    typed = {i: as_value(x, device) for i, x in enumerate(operands) if not is_number(x)}
    numbers = [x for x in operands if is_number(x)]
    found = [value.dtype for value in typed.values()]
    dtype = found[0]
    for other in found[1:]:
        dtype = dtypes.promote(dtype, other)
    for number in numbers:
        dtype = dtypes.with_number(dtype, number)
    values = []
    for i, operand in enumerate(operands):
        values.append(graph.full(operand, dtype, (), device) if is_number(operand) else typed[i])
    return dtype, values


def device_of(operands: Sequence[object]) -> str:
    """The one device of the values among the operands.

    Raises DeviceError if there are two, DTypeError if none of the operands is a tensor.
    """
    found = dict.fromkeys(value.device for value in operands if isinstance(value, Value))
    if len(found) > 1:
        listed = " and ".join(found)
        raise DeviceError(f"operands are on {listed}: bring them together with .to(device)")
    if not found:
        listed = " and ".join(type(operand).__name__ for operand in operands)
        raise DTypeError(f"operands {listed}: none of them is a tensor")
    return next(iter(found))


def broadcast_to(value: Value, shape: Shape) -> Value:
    """The value repeated along missing axes and those of size 1. Raises ShapeError."""
    if value.shape == shape:
        return value
    if len(value.shape) > len(shape) or broadcast(value.shape, shape) != shape:
        raise ShapeError(f"shape {value.shape}: does not broadcast to {shape}")
    ones = (1,) * (len(shape) - value.ndim)
    return graph.expand(graph.reshape(value, ones + value.shape), shape)
