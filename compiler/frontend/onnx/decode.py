"""From ONNX's protocol buffers to plain data."""

from collections.abc import Iterable, Mapping

import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from compiler.errors import ModelError
from compiler.frontend.onnx.check import check_model
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
from compiler.frontend.storage import Array

Bound = Mapping[str, Attribute]  # attributes of a function's call, which its body refers to
_NO_ATTRIBUTES: Bound = {}
_ELEMENTS = frozenset(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}
_OWN = ("", "ai.onnx")  # two spellings of ONNX's own domain
OLDEST, NEWEST = 7, 28  # the opsets of ONNX's own domain that operators are written for


def from_proto(proto: onnx.ModelProto, subject: str = "model") -> Model:
    """The data of a model in memory; errors begin with `subject`. Raises ModelError."""
    _check_opsets(proto.opset_import, subject)
    for item in proto.functions:
        _check_opsets(item.opset_import, f"{subject}: function {item.name}")
    constants = {item.name for item in proto.graph.initializer}
    inputs = tuple([_input(item) for item in proto.graph.input if item.name not in constants])
    defaults = tuple([_input(item) for item in proto.graph.input if item.name in constants])
    model = Model(
        _graph(proto.graph, _NO_ATTRIBUTES),
        _opsets(proto.opset_import),
        {(_domain(item.domain), item.name): item for item in proto.functions},
        inputs,
        defaults,
        proto,
    )
    bodies = {key: function_of(item, _NO_ATTRIBUTES) for key, item in model.functions.items()}
    check_model(model, bodies, subject)
    return model


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
    initializers = {
        item.name: _array(item, f"initializer {item.name}") for item in proto.initializer
    }
    if len(initializers) < len(proto.initializer):
        raise ModelError(f"graph {proto.name}: has two initializers of one name")
    return Graph(
        tuple([_node(node, bound) for node in proto.node]),
        initializers,
        tuple([item.name for item in proto.input if item.name not in initializers]),
        tuple([item.name for item in proto.output]),
    )


def _array(tensor: onnx.TensorProto, subject: str) -> Array:
    """The elements of a constant. Raises ModelError for what is damaged."""
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, onnx.checker.ValidationError) as error:
        fact = f"element type {error}" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{subject}: cannot be read, {' '.join(fact.split())}") from None


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
        return _array(value, f"attribute {attribute.name}")
    if isinstance(value, onnx.GraphProto):
        return _graph(value, bound)
    if isinstance(value, bytes):
        return _text(value, attribute.name)
    if isinstance(value, list):
        return tuple(
            [_text(item, attribute.name) if isinstance(item, bytes) else item for item in value]
        )
    return value


def _text(value: bytes, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ModelError(f"attribute {name}: {value!r} is no text in UTF-8") from None


def _input(item: onnx.ValueInfoProto) -> Input:
    kind, form = item.type, Form.TENSOR
    if kind.HasField("optional_type"):
        kind, form = kind.optional_type.elem_type, Form.OPTIONAL
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
        form = Form.SEQUENCE if form is Form.TENSOR else form
    tensor = kind.tensor_type
    if tensor.elem_type not in _ELEMENTS:
        raise ModelError(f"input {item.name}: holds no tensors, only they are supported")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Input(item.name, str(dtype), None, form)
    shape: list[Dim] = []
    for place, dim in enumerate(tensor.shape.dim):
        is_fixed = dim.HasField("dim_value") and dim.dim_value >= 0
        shape.append(dim.dim_value if is_fixed else dim.dim_param or f"{item.name}_{place}")
    return Input(item.name, str(dtype), tuple(shape), form)
