"""What a model needs and is not there, all of it in one error before anything runs."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx

from compiler.errors import DTypeError, ModelError
from compiler.frontend.dtypes import as_dtype
from compiler.frontend.onnx.bodies import has_body
from compiler.frontend.onnx.check import nodes_in
from compiler.frontend.onnx.decode import function_of
from compiler.frontend.onnx.model import Input, Model, NodeProto
from compiler.frontend.onnx.operators import OPERATORS


def check_supported(model: Model) -> None:
    """Raise ModelError for operators that are missing and for inputs that no tensor can hold."""
    found = [*_missing_operators(model), *_foreign_inputs(model)]
    if found:
        raise ModelError("; ".join(found))


def _missing_operators(model: Model) -> Iterator[str]:
    """Each with how often it is used."""
    missing = Counter(
        node.full_name
        for node in _all_nodes(model)
        if node.full_name not in OPERATORS
        and (node.domain, node.op) not in model.functions
        and not has_body(node, model.opsets)
    )
    if missing:
        listed = ", ".join(f"{name} x{count}" for name, count in sorted(missing.items()))
        yield f"unsupported operators: {listed}"


def _foreign_inputs(model: Model) -> Iterator[str]:
    """Each with ONNX's name for what it holds."""
    listed = ", ".join([f"{item.name} of {_onnx_type(item)}" for item in _foreign(model.inputs)])
    if listed:
        yield f"unsupported inputs: {listed}, which tensors do not have"


def _foreign(inputs: tuple[Input, ...]) -> Iterator[Input]:
    for item in inputs:
        try:
            as_dtype(item.dtype)
        except DTypeError:
            yield item


def _onnx_type(item: Input) -> str:
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(item.dtype))
    name: str = onnx.TensorProto.DataType.Name(number)
    return name


def _all_nodes(model: Model) -> Iterator[NodeProto]:
    """Those of the graph, of graphs inside nodes, and of the model's functions."""
    yield from nodes_in(model.graph)
    for proto in model.functions.values():
        yield from nodes_in(function_of(proto, {}).graph)
