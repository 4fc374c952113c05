"""An ONNX file as plain data: nodes in order, initializers, inputs and outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types
from onnx import numpy_helper

from compiler.errors import ModelError
from compiler.frontend.storage import Array

Attribute: TypeAlias = Any  # int, float, str, tuple of them, or an array: whatever the file says
Dim: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a model: a dtype and sizes, some of which only have names."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class NodeProto:
    """One operator call."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Model:
    """The graph of a model; `proto` is what the reference evaluator runs."""

    opset: int
    nodes: tuple[NodeProto, ...]
    initializers: Mapping[str, Array]
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    proto: onnx.ModelProto


def load(path: Path) -> Model:
    """Read a model. Raises ModelError for a file that is none."""
    try:
        proto = onnx.load(str(path))
    except (OSError, DecodeError) as error:
        raise ModelError(f"model {path}: cannot be read, {error}") from None
    if not proto.graph.output:
        raise ModelError(f"model {path}: has no outputs, it is not an ONNX model")
    return from_proto(proto)


def from_proto(proto: onnx.ModelProto) -> Model:
    """The data of a model in memory."""
    graph = proto.graph
    initializers = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    return Model(
        _opset(proto),
        tuple([_node(node) for node in graph.node]),
        initializers,
        tuple([_input(item) for item in graph.input if item.name not in initializers]),
        tuple([item.name for item in graph.output]),
        proto,
    )


def _opset(proto: onnx.ModelProto) -> int:
    return max(
        [item.version for item in proto.opset_import if item.domain in ("", "ai.onnx")], default=1
    )


def _node(node: onnx.NodeProto) -> NodeProto:
    attributes = {item.name: _attribute(item) for item in node.attribute}
    domain = "" if node.domain == "ai.onnx" else node.domain
    return NodeProto(
        node.op_type, domain, node.name, tuple(node.input), tuple(node.output), attributes
    )


def _attribute(attribute: onnx.AttributeProto) -> Attribute:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return tuple([item.decode() if isinstance(item, bytes) else item for item in value])
    return value


def _input(item: onnx.ValueInfoProto) -> Input:
    tensor = item.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else None
    if dtype is None:
        raise ModelError(f"input {item.name}: is no tensor, only tensors are supported")
    shape: list[Dim] = []
    for place, dim in enumerate(tensor.shape.dim):
        is_fixed = dim.HasField("dim_value") and dim.dim_value > 0
        shape.append(dim.dim_value if is_fixed else dim.dim_param or f"{item.name}_{place}")
    return Input(item.name, str(dtype), tuple(shape))
