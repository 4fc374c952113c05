"""The functions of the standard whose arguments are not those of the tensor's method."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.errors import DTypeError, ShapeError
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.shapes import Axes, as_shape
from compiler.frontend.tensor import Tensor, wrap


def asarray(
    obj: object,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of the elements; a tensor that is like that already is given back.

    With `copy` it is a tensor of its own: what is assigned to one does not show in the other.
    """
    if not isinstance(obj, Tensor):
        if copy is False:
            raise ShapeError("asarray: a tensor is a snapshot, always a copy; leave out copy=False")
        return Tensor(obj, dtype, device or "llvm")
    result = obj if device is None else obj.to(device)
    result = result if dtype is None else result.astype(dtype)
    if result.value is not obj.value:
        if copy is False:
            raise ShapeError(f"asarray of {obj}: has to be converted, leave out copy=False")
        return result
    return wrap(obj.value) if copy else obj


def from_dlpack(
    x: Any,  # noqa: ANN401  # whatever has __dlpack__
    /,
    *,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A snapshot of an array of another library."""
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack of {type(x).__name__}: has no __dlpack__")
    return asarray(x if isinstance(x, Tensor) else np.from_dlpack(x), device=device, copy=copy)


def astype(
    x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None
) -> Tensor:
    """Converted elements; without `copy`, the tensor itself if it is of that dtype already."""
    return asarray(_tensor(x, "astype"), dtype=dtype, device=device, copy=copy or None)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The same elements in the same order; one size may be -1."""
    return _tensor(x, "reshape").reshape(shape)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """New axis i is old axis axes[i]."""
    return _tensor(x, "permute_dims").permute_dims(axes)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Repeated along missing axes and those of size 1."""
    return _tensor(x, "broadcast_to").broadcast_to(as_shape(shape))


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Without these axes, which have size 1."""
    return _tensor(x, "squeeze").squeeze(axis)


def _tensor(x: object, name: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise DTypeError(f"{name} of {type(x).__name__}: use a tensor")
    return x
