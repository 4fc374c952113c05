"""Evaluates graphs: each node becomes lazy values, in order."""

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace

import onnx

from compiler.errors import (
    CompilerError,
    DTypeError,
    IndexingError,
    ModelError,
    NumberError,
    ShapeError,
)
from compiler.frontend import graph as lazy
from compiler.frontend.graph import Value
from compiler.frontend.onnx.bodies import body_of
from compiler.frontend.onnx.call import Call, Item
from compiler.frontend.onnx.decode import function_of
from compiler.frontend.onnx.fold import fold
from compiler.frontend.onnx.model import Function, FunctionKey, Graph, Model, NodeProto
from compiler.frontend.onnx.operators import OPERATORS
from compiler.frontend.onnx.schemas import result_dtypes, why_wrong
from compiler.frontend.storage import Array, from_array
from compiler.ir import DType

Names = MutableMapping[str, Item]


@dataclass(frozen=True, slots=True)
class Context:
    """What holds in a whole graph: the device, the opsets, the functions of the model."""

    device: str
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, onnx.FunctionProto]
    is_body: bool = False  # of an operator: ONNX's bodies have float32 constants for all floats


def evaluate(model: Model, inputs: Mapping[str, Item], device: str) -> tuple[Item, ...]:
    """The outputs of a model, lazily; `check_supported` has found nothing."""
    context = Context(device, model.opsets, model.functions)
    return _graph(model.graph, inputs, {}, context)


def _graph(
    graph: Graph, given: Mapping[str, Item], outer: Names, context: Context
) -> tuple[Item, ...]:
    """The outputs of a graph, which sees names around it. What is given goes before constants."""
    own: dict[str, Item] = {
        name: _constant(name, array, context.device)
        for name, array in graph.initializers.items()
        if name not in given
    }
    own.update(given)
    names = ChainMap(own, outer)
    for node in graph.nodes:
        names.update(_named(node, names, context))
    # the body of an operator lacks what makes an output that nobody asked for
    return tuple([names.get(name) for name in graph.outputs])


def _constant(name: str, array: Array, device: str) -> Value:
    try:
        return from_array(array, device)
    except DTypeError as error:
        raise ModelError(f"initializer {name}: {error}") from None


def _named(node: NodeProto, names: Names, context: Context) -> dict[str, Item]:
    """What a node makes; errors say which node it was, whatever is wrong with its inputs."""
    try:
        return _node(node, names, context)
    except (ShapeError, DTypeError, IndexingError, NumberError) as error:
        raise type(error)(f"{node.label}: {error}") from None
    except CompilerError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Schemas do not tell ranks: where an operator takes them for granted, Python complains.
        given = ", ".join([_described(names[name]) if name else "-" for name in node.inputs])
        fact = " ".join(str(error).split())
        raise ModelError(f"{node.label}: cannot be computed of {given}, {fact}") from error


def _described(item: Item) -> str:
    if isinstance(item, Value):
        return f"{item.dtype}{list(item.shape)}"
    return "nothing" if item is None else f"a sequence of {len(item.items)}"


def _node(node: NodeProto, names: Names, context: Context) -> dict[str, Item]:
    inputs = tuple([names[name] if name else None for name in node.inputs])
    function = _function(node, inputs, context)
    if function is None:
        found = _operator(node, inputs, names, context)
    else:
        is_body = context.is_body or (node.domain, node.op) not in context.functions
        opsets = {**context.opsets, **function.opsets}
        within = replace(context, opsets=opsets, is_body=is_body)
        given = dict.fromkeys(function.graph.inputs) | dict(
            zip(function.graph.inputs, inputs, strict=False)
        )
        found = _graph(function.graph, given, {}, within)
    found = _as_declared(node, inputs, found, context)
    if len(found) < len([name for name in node.outputs if name]):
        raise ModelError(f"{node.label}: only {len(found)} outputs are supported")
    return {name: item for name, item in zip(node.outputs, found, strict=False) if name}


def _dtypes(items: Sequence[Item]) -> list[DType | None]:
    return [item.dtype if isinstance(item, Value) else None for item in items]


def _as_declared(
    node: NodeProto, inputs: Sequence[Item], found: Sequence[Item], context: Context
) -> tuple[Item, ...]:
    """Results in the dtypes that the schema says, however they were computed."""
    if (node.domain, node.op) in context.functions:
        return tuple(found)
    opset = context.opsets.get(node.domain, 1)
    wanted = result_dtypes(node.op, node.domain, opset, _dtypes(inputs))
    wanted += (None,) * (len(found) - len(wanted))
    return tuple(
        [
            lazy.cast(item, dtype) if isinstance(item, Value) and dtype is not None else item
            for item, dtype in zip(found, wanted, strict=False)
        ]
    )


def _function(node: NodeProto, inputs: Sequence[Item], context: Context) -> Function | None:
    """The function that a node calls: the model's own, or the definition of an operator."""
    local = context.functions.get((node.domain, node.op))
    if local is not None:
        return function_of(local, node.attributes)
    if node.full_name in OPERATORS:
        return None
    return body_of(node, inputs, context.opsets)


def _operator(
    node: NodeProto, inputs: tuple[Item, ...], names: Names, context: Context
) -> tuple[Item, ...]:
    # not through `call`, which holds this: values in a circle stay until the collector runs
    def nested(graph: Graph, given: Sequence[Item]) -> tuple[Item, ...]:
        if len(given) != len(graph.inputs):
            fact = f"its graph takes {len(graph.inputs)} inputs, is given {len(given)}"
            raise ModelError(f"{node.label}: {fact}")
        return _graph(graph, dict(zip(graph.inputs, given, strict=True)), names, context)

    opset = context.opsets.get(node.domain, 1)
    why = None if context.is_body else why_wrong(node.op, node.domain, opset, _dtypes(inputs))
    if why is not None:
        raise DTypeError(why)
    call = Call(
        node.op,
        node.label,
        opset,
        inputs,
        node.attributes,
        context.device,
        len(node.outputs),
        nested,
    )
    folded = None if node.domain else fold(call)
    result = OPERATORS[node.full_name](call) if folded is None else folded
    return result if isinstance(result, tuple) else (result,)
