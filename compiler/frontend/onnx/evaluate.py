"""Evaluates graphs: each node becomes lazy values, in order."""

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace

import onnx

from compiler.errors import ModelError
from compiler.frontend.onnx.bodies import body_of, has_body
from compiler.frontend.onnx.call import Call, Item
from compiler.frontend.onnx.decode import function_of
from compiler.frontend.onnx.fold import fold
from compiler.frontend.onnx.model import Function, FunctionKey, Graph, Model, NodeProto
from compiler.frontend.onnx.operators import OPERATORS
from compiler.frontend.storage import from_array

Names = MutableMapping[str, Item]


@dataclass(frozen=True, slots=True)
class Context:
    """What holds in a whole graph: the device, the opsets, the functions of the model."""

    device: str
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, onnx.FunctionProto]


def evaluate(model: Model, inputs: Mapping[str, Item], device: str) -> tuple[Item, ...]:
    """The outputs of a model, lazily; `check_operators` has found nothing."""
    context = Context(device, model.opsets, model.functions)
    return _graph(model.graph, dict(inputs), context)


def _graph(graph: Graph, names: Names, context: Context) -> tuple[Item, ...]:
    for name, array in graph.initializers.items():
        names[name] = from_array(array, context.device)
    for node in graph.nodes:
        names.update(_node(node, names, context))
    # the body of an operator lacks what makes an output that nobody asked for
    return tuple([names.get(name) for name in graph.outputs])


def _node(node: NodeProto, names: Names, context: Context) -> dict[str, Item]:
    inputs = tuple([names[name] if name else None for name in node.inputs])
    function = _function(node, inputs, context)
    if function is None:
        found = _operator(node, inputs, names, context)
    else:
        within = replace(context, opsets={**context.opsets, **function.opsets})
        given = dict.fromkeys(function.graph.inputs) | dict(
            zip(function.graph.inputs, inputs, strict=False)
        )
        found = _graph(function.graph, given, within)
    if len(found) < len([name for name in node.outputs if name]):
        raise ModelError(f"{node.op} {node.name}: only {len(found)} outputs are supported")
    return {name: item for name, item in zip(node.outputs, found, strict=False) if name}


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
    def nested(graph: Graph, given: Sequence[Item]) -> tuple[Item, ...]:
        inner = dict(zip(graph.inputs, given, strict=True))
        return _graph(graph, ChainMap(inner, names), context)

    call = Call(
        node.op,
        node.name,
        context.opsets.get(node.domain, 1),
        inputs,
        node.attributes,
        context.device,
        len(node.outputs),
        nested,
    )
    folded = None if node.domain else fold(call)
    result = OPERATORS[node.full_name](call) if folded is None else folded
    return result if isinstance(result, tuple) else (result,)


# --- what is not supported ------------------------------------------------------------------------


def check_operators(model: Model) -> None:
    """Raise one ModelError that lists every unsupported operator with how often it is used."""
    missing = Counter(
        node.full_name
        for node in _all_nodes(model)
        if node.full_name not in OPERATORS
        and (node.domain, node.op) not in model.functions
        and not has_body(node, model.opsets)
    )
    if missing:
        listed = ", ".join(f"{name} x{count}" for name, count in sorted(missing.items()))
        raise ModelError(f"unsupported operators: {listed}")


def _all_nodes(model: Model) -> Iterator[NodeProto]:
    """Those of the graph, of graphs inside nodes, and of the model's functions."""
    graphs = [model.graph, *[function_of(proto, {}).graph for proto in model.functions.values()]]
    while graphs:
        for node in graphs.pop().nodes:
            yield node
            graphs.extend([item for item in node.attributes.values() if isinstance(item, Graph)])
