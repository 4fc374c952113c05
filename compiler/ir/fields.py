"""What the fields of a node must be. One check per kind of field, in _FIELD_CHECKS."""

from collections.abc import Callable, Mapping

from compiler.ir.dtype import Kind
from compiler.ir.node import Node
from compiler.ir.op import FIELDS, AxisKind, Field, Op
from compiler.ir.viewstack import ViewStack

_VOID = Kind.VOID


def why_bad_fields(node: Node) -> str | None:
    """Why the attributes of a node are not the fields of its op."""
    if tuple(map(type, node.attr)) == _TYPES.get(node.op):
        return None
    fields = _FIELDS[node.op]
    if len(node.attr) != len(fields):
        return f"{len(node.attr)} fields, expected {len(fields)}"
    for (name, kind, is_right), value in zip(fields, node.attr, strict=True):
        if not is_right(node, value):
            return f"field {name} is {str(value)[:60]}, which is not of kind {kind.name}"
    return None


def _is_size(node: Node, value: object) -> bool:
    if isinstance(value, Node):
        return value.dtype.is_int and value.dtype.count == 1
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(node: Node) -> bool:
    """Whether a CONST is what nearly all are: a number of a scalar dtype, without a view."""
    attr, dtype = node.attr, node.dtype
    if len(attr) != 2 or attr[1] is not None or node.src or dtype.count > 1:
        return False
    return dtype.kind is not _VOID and _is_value(node, attr[0])


def _is_value(node: Node, value: object) -> bool:
    dtype = node.dtype
    if type(value) is not _PYTHON_TYPES[dtype.kind]:
        return False
    return not dtype.is_int or dtype.lowest <= value <= dtype.highest  # type: ignore[operator]  # an int


_PYTHON_TYPES: Mapping[Kind, type] = {
    Kind.BOOL: bool,
    Kind.FLOAT: float,
    Kind.INT: int,
    Kind.UINT: int,
    Kind.VOID: type(None),  # never of one of its own
}


def _is_axes(node: Node, value: object) -> bool:
    if not isinstance(value, tuple):
        return False
    wrong = [
        pair
        for pair in value
        if len(pair) != 2
        or not isinstance(pair[0], str)
        or (type(pair[1]) is not int and not _is_size(node, pair[1]))
    ]
    return not wrong


_FIELD_CHECKS: Mapping[Field, Callable[[Node, object], bool]] = {
    Field.INT: lambda node, value: type(value) is int,
    Field.INTS: lambda node, value: isinstance(value, tuple) and {int}.issuperset(map(type, value)),
    Field.VALUE: _is_value,
    Field.NAME: lambda node, value: isinstance(value, str) and value != "",
    Field.NAMES: lambda node, value: (
        isinstance(value, tuple) and all(isinstance(name, str) for name in value)
    ),
    Field.SIZE: _is_size,
    Field.VIEWS: lambda node, value: (
        value is None or (isinstance(value, ViewStack) and len(value.views) > 0)
    ),
    Field.AXES: _is_axes,
    Field.OP: lambda node, value: isinstance(value, Op),
    Field.KIND: lambda node, value: isinstance(value, AxisKind),
}
_EXACT_TYPES: Mapping[Field, type] = {
    Field.INT: int, Field.SIZE: int, Field.OP: Op, Field.KIND: AxisKind
}  # fmt: skip
_TYPES = {  # of ops whose fields are right if these are their types; a size may be a node, too
    op: tuple([_EXACT_TYPES[kind] for _, kind in fields])
    for op, fields in FIELDS.items()
    if fields and all(kind in _EXACT_TYPES for _, kind in fields)
}
_FIELDS = {
    op: tuple([(name, kind, _FIELD_CHECKS[kind]) for name, kind in fields])
    for op, fields in FIELDS.items()
}
