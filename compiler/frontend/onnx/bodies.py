"""Operators that ONNX itself defines by other operators: their bodies."""

from collections.abc import Mapping, Sequence

import onnx

from compiler.frontend.dtypes import to_numpy
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Item, Series
from compiler.frontend.onnx.decode import attribute_value, function_of
from compiler.frontend.onnx.model import Function, NodeProto
from compiler.frontend.onnx.schemas import schema_of
from compiler.frontend.symbolic import is_symbolic


def has_body(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether ONNX says how to compute the operator by others."""
    schema = schema_of(node.op, node.domain, opsets.get(node.domain, 1))
    return schema is not None and (_is_plain(schema) or _is_dependent(schema))


def _is_plain(schema: onnx.defs.OpSchema) -> bool:
    return bool(schema.has_function)  # type: ignore[attr-defined]  # onnx's stub lacks it


def _is_dependent(schema: onnx.defs.OpSchema) -> bool:
    return bool(schema.has_context_dependent_function)  # type: ignore[attr-defined]  # likewise


def body_of(node: NodeProto, inputs: Sequence[Item], opsets: Mapping[str, int]) -> Function:
    """The function that computes `node`; `has_body` holds. Some depend on the inputs' types."""
    opset = opsets.get(node.domain, 1)
    schema = schema_of(node.op, node.domain, opset)
    assert schema is not None
    given = schema.attributes.items()
    defaults = {name: attribute_value(a.default_value) for name, a in given if a.default_value.name}
    if _is_plain(schema):
        text = _plain_body(schema, opset)
    else:
        missing = [a.default_value for name, a in given if name not in node.attributes]
        full = _resolved(node, [item for item in missing if item.name])
        text = _body_for(schema, full, inputs, opset)
    proto = onnx.FunctionProto()
    proto.ParseFromString(text)
    return function_of(proto, {**defaults, **node.attributes})


def _plain_body(schema: onnx.defs.OpSchema, opset: int) -> bytes:
    version = _latest(schema.function_opset_versions, opset)  # type: ignore[attr-defined]  # onnx's stub lacks it
    found: bytes = schema.get_function_with_opset_version(version)  # type: ignore[attr-defined]  # likewise
    return found


def _body_for(
    schema: onnx.defs.OpSchema, node: onnx.NodeProto, inputs: Sequence[Item], opset: int
) -> bytes:
    """A body that depends on attributes and on the types of the inputs."""
    versions = schema.context_dependent_function_opset_versions  # type: ignore[attr-defined]  # likewise
    types = [_type_of(item).SerializeToString() for item in inputs]
    found: bytes = schema.get_context_dependent_function_with_opset_version(  # type: ignore[attr-defined]  # likewise
        _latest(versions, opset), node.SerializeToString(), types
    )
    return found


def _resolved(node: NodeProto, missing: Sequence[onnx.AttributeProto]) -> onnx.NodeProto:
    """The node as ONNX knows it, with numbers in place of references to a function's attributes."""
    full = onnx.NodeProto()
    full.CopyFrom(node.proto)
    full.ClearField("attribute")
    for item in node.proto.attribute:
        if not item.ref_attr_name:
            full.attribute.append(item)
        elif item.name in node.attributes:
            full.attribute.append(onnx.helper.make_attribute(item.name, node.attributes[item.name]))
    full.attribute.extend(missing)
    return full


def _latest(versions: Sequence[int], opset: int) -> int:
    """The newest version that the model's opset has; the oldest for models before all."""
    return max([version for version in versions if version <= opset], default=min(versions))


def _type_of(item: Item) -> onnx.TypeProto:
    if item is None:
        return onnx.TypeProto()
    if isinstance(item, Series):
        first = _tensor_type(item.items[0]) if item.items else onnx.TypeProto()
        return onnx.helper.make_sequence_type_proto(first)
    return _tensor_type(item)


def _tensor_type(value: Value) -> onnx.TypeProto:
    code = onnx.helper.np_dtype_to_tensor_dtype(to_numpy(value.dtype))
    # A body that asked for a symbolic size would be one for its value alone.
    shape = [None if is_symbolic(size) else size for size in value.shape]
    return onnx.helper.make_tensor_type_proto(code, shape)
