"""Runs a model on arrays: the outputs are realized together."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from compiler.errors import ModelError, ShapeError
from compiler.frontend.binding import bind
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Item, Series
from compiler.frontend.onnx.evaluate import check_operators, evaluate
from compiler.frontend.onnx.feeds import check_dims
from compiler.frontend.onnx.model import Form, Input, Model
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
    check_operators(model)
    check_dims(model, variables)
    inputs = {item.name: _bound(item, _fed(item, feed, device), variables) for item in model.inputs}
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
    if item.name not in feed:
        raise ModelError(f"input {item.name}: is not fed")
    fed = feed[item.name]
    if fed is None and item.form is Form.OPTIONAL:
        return None
    if isinstance(fed, list | tuple) and item.form is not Form.TENSOR:
        return Series(tuple([from_array(array, device) for array in fed]))
    if fed is None or isinstance(fed, list | tuple) or item.form is Form.SEQUENCE:
        raise ModelError(f"input {item.name}: is a {item.form.name.lower()}, fed {type(fed)}")
    array: Array = fed  # type: ignore[assignment]  # sequences of arrays are lists or tuples
    rank = array.ndim if item.shape is None else len(item.shape)
    if array.ndim != rank or array.dtype != item.dtype:
        expected = f"{item.dtype}{'' if item.shape is None else list(item.shape)}"
        raise ModelError(
            f"input {item.name}: fed {array.dtype}{list(array.shape)}, expected {expected}"
        )
    return from_array(array, device)
