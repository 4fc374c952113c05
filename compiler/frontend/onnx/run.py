"""Runs a model on arrays: the outputs are realized together."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from compiler.errors import DTypeError, ModelError, ShapeError
from compiler.frontend.binding import bind
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Item, Series
from compiler.frontend.onnx.evaluate import evaluate
from compiler.frontend.onnx.feeds import check_dims, check_names
from compiler.frontend.onnx.model import Dim, Form, Input, Model
from compiler.frontend.onnx.supported import check_supported
from compiler.frontend.realize import realize, to_numpy
from compiler.frontend.storage import Array, from_array
from compiler.frontend.symbolic import Variable

_NONE: Mapping[str, Variable] = {}
Fed: TypeAlias = Array | Sequence[Array] | None  # an array, a sequence of them, an empty optional


def run(
    model: Model,
    feed: Mapping[str, Array],
    device: str = "llvm",
    *,
    variables: Mapping[str, Variable] = _NONE,
) -> dict[str, Array]:
    """The outputs by name. Raises ModelError for unsupported operators and for a wrong feed.

    `variables` make dimensions of the model symbolic: kernels are compiled once for all values.
    """
    found = {}
    for name, output in run_any(model, feed, device, variables=variables).items():
        if output is None or isinstance(output, list):
            raise ModelError(f"output {name}: is a sequence or optional, use run_any")
        found[name] = output
    return found


def run_any(
    model: Model,
    feed: Mapping[str, Fed],
    device: str = "llvm",
    *,
    variables: Mapping[str, Variable] = _NONE,
) -> dict[str, Array | list[Array] | None]:
    """`run` for models with sequences (lists) and optionals (None) among inputs and outputs."""
    check_supported(model)
    check_dims(model, variables)
    check_names(model, feed)
    for item in model.inputs:
        if item.name not in feed:
            raise ModelError(f"input {item.name}: is not fed")
    given = [*model.inputs, *[item for item in model.defaults if item.name in feed]]
    inputs = {item.name: _bound(item, _fed(item, feed, device), variables) for item in given}
    outputs = evaluate(model, inputs, device)
    values = [value for item in outputs for value in _values(item)]
    computed = iter([to_numpy(value) for value in realize(values)])
    return {
        name: [next(computed) for _ in item.items]
        if isinstance(item, Series)
        else (None if item is None else next(computed))
        for name, item in zip(model.outputs, outputs, strict=True)
    }


def _values(item: Item) -> tuple[Value, ...]:
    match item:
        case None:
            return ()
        case Series(items):
            return items
        case _:
            return (item,)


def _bound(item: Input, fed: Item, variables: Mapping[str, Variable]) -> Item:
    """The input with symbolic sizes for the dimensions that have variables."""
    if not isinstance(fed, Value):
        return fed
    for axis, dim in enumerate(item.shape or ()):
        if isinstance(dim, str) and dim in variables:
            try:
                fed = bind(fed, variables[dim], axis)
            except ShapeError as error:
                raise ModelError(f"input {item.name}, dimension {dim}: {error}") from None
    return fed


def _fed(item: Input, feed: Mapping[str, Fed], device: str) -> Item:
    fed = feed[item.name]
    if fed is None and item.form is Form.OPTIONAL:
        return None
    if isinstance(fed, list | tuple) and item.form is not Form.TENSOR:
        return Series(tuple([_value(item, array, device) for array in fed]))
    if fed is None or isinstance(fed, list | tuple) or item.form is Form.SEQUENCE:
        raise ModelError(
            f"input {item.name}: is a {item.form.name.lower()}, fed {type(fed).__name__}"
        )
    return _value(item, fed, device)  # type: ignore[arg-type]  # sequences are lists or tuples


def _value(item: Input, fed: Array, device: str) -> Value:
    """One array, of the dtype and the shape that the model says."""
    expected = f"{item.dtype}{'' if item.shape is None else list(item.shape)}"
    if not isinstance(fed, np.ndarray | np.generic):
        raise ModelError(f"input {item.name}: fed {type(fed).__name__}, expected {expected}")
    if fed.dtype != item.dtype or not _is_of(fed.shape, item.shape):
        raise ModelError(
            f"input {item.name}: fed {fed.dtype}{list(fed.shape)}, expected {expected}"
        )
    try:
        return from_array(np.asarray(fed), device)
    except DTypeError as error:
        raise ModelError(f"input {item.name}: {error}") from None


def _is_of(shape: Sequence[int], wanted: Sequence[Dim] | None) -> bool:
    """Whether an array of this shape is meant; old exporters write 0 for a size they leave open."""
    if wanted is None:
        return True
    return len(shape) == len(wanted) and all(
        isinstance(want, str) or want in (0, size) for size, want in zip(shape, wanted, strict=True)
    )
