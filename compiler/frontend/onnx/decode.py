"""From ONNX's protocol buffers to plain data."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types
from onnx import AttributeProto, numpy_helper

from compiler.errors import ModelError
from compiler.frontend.onnx.model import (
    Attribute,
    Dim,
    Form,
    Function,
    Graph,
    Input,
    Model,
    NodeProto,
)

Bound = Mapping[str, Attribute]  # attributes of a function's call, which its body refers to
_NO_ATTRIBUTES: Bound = {}
_OWN = ("", "ai.onnx")  # two spellings of ONNX's own domain
OLDEST, NEWEST = 7, 28  # the opsets of ONNX's own domain that operators are written for


def load(path: Path) -> Model:
    """Read a model. Raises ModelError for a file that is none."""
    try:
        proto = onnx.load(str(path))
    except (OSError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelError(f"model {path}: cannot be read, {error}") from None
    if not proto.graph.output:
        raise ModelError(f"model {path}: has no outputs, it is not an ONNX model")
    return from_proto(proto, f"model {path}")


def from_proto(proto: onnx.ModelProto, subject: str = "model") -> Model:
    """The data of a model in memory; errors begin with `subject`. Raises ModelError."""
    _check_opsets(proto.opset_import, subject)
    for item in proto.functions:
        _check_opsets(item.opset_import, f"{subject}: function {item.name}")
    constants = {item.name for item in proto.graph.initializer}
    inputs = tuple([_input(item) for item in proto.graph.input if item.name not in constants])
    functions = {(_domain(item.domain), item.name): item for item in proto.functions}
    return Model(
        _graph(proto.graph, _NO_ATTRIBUTES), _opsets(proto.opset_import), functions, inputs, proto
    )


def function_of(proto: onnx.FunctionProto, attributes: Bound) -> Function:
    """The body of a function called with these attributes."""
    defaults = {item.name: _attribute(item, attributes) for item in proto.attribute_proto}
    bound = {**defaults, **attributes}
    nodes = tuple([_node(node, bound) for node in proto.node])
    graph = Graph(nodes, {}, tuple(proto.input), tuple(proto.output))
    return Function(graph, _opsets(proto.opset_import))


def attribute_value(attribute: AttributeProto) -> Attribute:
    """What an attribute holds, outside a function."""
    return _attribute(attribute, _NO_ATTRIBUTES)


def _domain(name: str) -> str:
    return "" if name in _OWN else name


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {_domain(item.domain): item.version for item in imports}


def _check_opsets(imports: Iterable[onnx.OperatorSetIdProto], subject: str) -> None:
    """Refuse what no operator is written for. Without any import the opset is 1, says ONNX."""
    opset = (_opsets(imports) or {"": 1}).get("", NEWEST)  # other domains number their own
    if not OLDEST <= opset <= NEWEST:
        raise ModelError(
            f"{subject}: has opset {opset}, supported are {OLDEST} to {NEWEST}, "
            "onnx.version_converter may convert it"
        )


def _graph(proto: onnx.GraphProto, bound: Bound) -> Graph:
    if proto.sparse_initializer:
        raise ModelError(f"graph {proto.name}: sparse initializers are not supported")
    initializers = {item.name: numpy_helper.to_array(item) for item in proto.initializer}
    return Graph(
        tuple([_node(node, bound) for node in proto.node]),
        initializers,
        tuple([item.name for item in proto.input if item.name not in initializers]),
        tuple([item.name for item in proto.output]),
    )


def _node(node: onnx.NodeProto, bound: Bound) -> NodeProto:
    attributes = {
        item.name: _attribute(item, bound)
        for item in node.attribute
        if not item.ref_attr_name or item.ref_attr_name in bound
    }
    return NodeProto(
        node.op_type,
        _domain(node.domain),
        node.name,
        tuple(node.input),
        tuple(node.output),
        attributes,
        node,
    )


def _attribute(attribute: AttributeProto, bound: Bound) -> Attribute:
    if attribute.ref_attr_name:
        return bound[attribute.ref_attr_name]
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.GraphProto):
        return _graph(value, bound)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return tuple([item.decode() if isinstance(item, bytes) else item for item in value])
    return value


def _input(item: onnx.ValueInfoProto) -> Input:
    kind, form = item.type, Form.TENSOR
    if kind.HasField("optional_type"):
        kind, form = kind.optional_type.elem_type, Form.OPTIONAL
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
        form = Form.SEQUENCE if form is Form.TENSOR else form
    tensor = kind.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else None
    if dtype is None:
        raise ModelError(f"input {item.name}: holds no tensors, only they are supported")
    if not tensor.HasField("shape"):
        return Input(item.name, str(dtype), None, form)
    shape: list[Dim] = []
    for place, dim in enumerate(tensor.shape.dim):
        is_fixed = dim.HasField("dim_value") and dim.dim_value >= 0
        shape.append(dim.dim_value if is_fixed else dim.dim_param or f"{item.name}_{place}")
    return Input(item.name, str(dtype), tuple(shape), form)
