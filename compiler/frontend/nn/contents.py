"""What is in a model: its tensors by name, those that are trained, their elements."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from compiler.errors import ShapeError
from compiler.frontend.storage import Array
from compiler.frontend.tensor import Tensor


def tensors(model: object) -> dict[str, Tensor]:
    """Every tensor by its dotted path; one that is in several places has the first one's name."""
    found: dict[str, Tensor] = {}
    for name, tensor, _ in _walk(model, "", is_trained=True):
        if not any(tensor is other for other in found.values()):
            found[name] = tensor
    return found


def parameters(model: object) -> tuple[Tensor, ...]:
    """The tensors that are trained: floats that their layer does not list as UNTRAINED."""
    found: list[Tensor] = []
    for _, tensor, is_trained in _walk(model, "", is_trained=True):
        is_new = not any(tensor is other for other in found)
        if is_trained and is_new and tensor.value.dtype.is_float:
            found.append(tensor)
    return tuple(found)


def _walk(thing: object, path: str, *, is_trained: bool) -> Iterator[tuple[str, Tensor, bool]]:
    if isinstance(thing, Tensor):
        yield path, thing, is_trained
        return
    untrained = getattr(thing, "UNTRAINED", ())
    for name, inner in _parts(thing):
        below = f"{path}.{name}" if path else name
        yield from _walk(inner, below, is_trained=is_trained and name not in untrained)


def _parts(thing: object) -> list[tuple[str, object]]:
    if isinstance(thing, list | tuple):
        return [(str(place), item) for place, item in enumerate(thing)]
    if isinstance(thing, Mapping):
        return [(str(key), item) for key, item in thing.items()]
    if is_dataclass(thing):
        return [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    return list(getattr(thing, "__dict__", {}).items())


def save(model: object) -> dict[str, Array]:
    """The elements of all tensors by name."""
    return {name: tensor.numpy() for name, tensor in tensors(model).items()}


def load(model: object, arrays: Mapping[str, Any]) -> None:
    """Give the tensors of a model saved elements. All or none: names and shapes must fit."""
    own = tensors(model)
    if own.keys() != arrays.keys():
        unlike = sorted(own.keys() ^ arrays.keys())
        raise ShapeError(f"load of {len(arrays)} arrays: {', '.join(unlike)} fit nothing")
    for name, tensor in own.items():
        if np.shape(arrays[name]) != tensor.shape:
            raise ShapeError(
                f"load of {name}: is {np.shape(arrays[name])}, expected {tensor.shape}"
            )
    for name, tensor in own.items():
        tensor.value = Tensor(arrays[name], tensor.dtype, tensor.device).realize().value
