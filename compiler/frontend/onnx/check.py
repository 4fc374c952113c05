"""What is wrong with a model before anything runs: names, counts, attributes. One line each.

Domains that ONNX has no schemas for are taken as they are; `check_supported` lists them.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import onnx

from compiler.errors import ModelError
from compiler.frontend.onnx.model import Function, FunctionKey, Graph, Model, NodeProto
from compiler.frontend.onnx.schemas import schema_of
from compiler.frontend.onnx.words import WORDS

Bodies = Mapping[FunctionKey, Function]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What holds around a node: whose it is, opsets, and the functions of the model."""

    subject: str
    opsets: Mapping[str, int]
    functions: Bodies

    def error(self, fact: str) -> ModelError:
        return ModelError(f"{self.subject}: {fact}")


def check_model(model: Model, bodies: Bodies, subject: str) -> None:
    """Raise ModelError for the first flaw of a model's graph, or of its functions."""
    scope = _Scope(subject, model.opsets, bodies)
    _check_graph(model.graph, frozenset(), scope)
    for (_, name), function in bodies.items():
        opsets = {**model.opsets, **function.opsets}
        _check_graph(
            function.graph, frozenset(), _Scope(f"{subject}: function {name}", opsets, bodies)
        )
    _check_recursion(bodies, subject)


def _check_graph(graph: Graph, outer: frozenset[str], scope: _Scope) -> None:
    _check_names(graph, scope)
    own = dict.fromkeys(graph.inputs, "is an input")
    own.update(dict.fromkeys(graph.initializers, "is an initializer"))
    if len(own) < len(graph.inputs) + len(graph.initializers):
        twice = next(name for name in graph.inputs if graph.inputs.count(name) > 1)
        raise scope.error(f"two inputs are called {twice}")
    made = frozenset([name for node in graph.nodes for name in node.outputs])
    for node in graph.nodes:
        known = outer | own.keys()
        _check_inputs(node, known, made, scope)
        _check_node(node, scope)
        for inner in _graphs_in(node):
            _check_graph(inner, known, scope)
        for name in filter(None, node.outputs):
            if name in own:
                raise scope.error(f"{node.label}: makes {name}, which {own[name]}")
            own[name] = f"{node.label} makes already"
    for name in graph.outputs:
        if name not in outer | own.keys():
            raise scope.error(f"output {name or '(without a name)'}: nothing makes it")


def _check_inputs(node: NodeProto, known: Set[str], made: frozenset[str], scope: _Scope) -> None:
    """Nodes stand in order, so a cycle is a name that is not there yet."""
    for place, name in enumerate(node.inputs):
        if name and name not in known:
            why = "it or a later node makes" if name in made else "nothing makes"
            raise scope.error(f"{node.label}: input {place} is {name}, which {why}")


def _check_names(graph: Graph, scope: _Scope) -> None:
    """Names are text: bytes that are no UTF-8 come as bytes."""
    ends: list[str] = [*graph.inputs, *graph.outputs, *graph.initializers]
    names = ends + [
        name
        for node in graph.nodes
        for name in (node.op, node.domain, node.name, *node.inputs, *node.outputs)
    ]
    for name in names:
        if not isinstance(name, str) or (name and not name.isprintable()):
            raise scope.error(f"name {name!r}: is no printable text in UTF-8")


def _graphs_in(node: NodeProto) -> Iterator[Graph]:
    return (item for item in node.attributes.values() if isinstance(item, Graph))


def _check_recursion(bodies: Bodies, subject: str) -> None:
    """Functions are expanded where they are called: one that calls itself would have no end."""
    calls = {
        key: {(node.domain, node.op) for node in nodes_in(function.graph)} & bodies.keys()
        for key, function in bodies.items()
    }
    remaining = dict(calls)
    while remaining:
        ready = [key for key, called in remaining.items() if not called & remaining.keys()]
        if not ready:
            names = ", ".join(sorted(name for _, name in remaining))
            raise ModelError(f"{subject}: functions call themselves: {names}")
        for key in ready:
            del remaining[key]


def nodes_in(graph: Graph) -> Iterator[NodeProto]:
    """The nodes of a graph and of all graphs inside them."""
    graphs = [graph]
    while graphs:
        for node in graphs.pop().nodes:
            yield node
            graphs.extend(_graphs_in(node))


# --- one node -------------------------------------------------------------------------------------


def _check_node(node: NodeProto, scope: _Scope) -> None:
    why = _why_wrong(node, scope)
    if why is not None:
        raise scope.error(f"{node.label}: {why}")


def _why_wrong(node: NodeProto, scope: _Scope) -> str | None:
    function = scope.functions.get((node.domain, node.op))
    if function is not None:
        most = len(function.graph.inputs), len(function.graph.outputs)
        return _why_too_many(node, *most)
    opset = scope.opsets.get(node.domain, 1)
    schema = schema_of(node.op, node.domain, opset)
    if schema is None:
        return None
    return (
        _why_too_many(node, schema.max_input, schema.max_output)
        or _why_too_few(node, schema)
        or _why_attributes(node, schema, opset)
        or _why_words(node)
    )


def _given(names: Iterable[str]) -> int:
    """How many, less those at the end that are left out."""
    return max([place for place, name in enumerate(names, 1) if name], default=0)


def _why_too_many(node: NodeProto, inputs: int, outputs: int) -> str | None:
    if _given(node.inputs) > inputs:
        return f"has {_given(node.inputs)} inputs, takes {inputs}"
    if _given(node.outputs) > outputs:
        return f"has {_given(node.outputs)} outputs, makes {outputs}"
    return None


def _why_too_few(node: NodeProto, schema: onnx.defs.OpSchema) -> str | None:
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    for place, formal in enumerate(schema.inputs):
        is_there = place < len(node.inputs) and node.inputs[place]
        if formal.option == single and not is_there:
            return f"input {place} ({formal.name}) is missing"
    return None


def _why_attributes(node: NodeProto, schema: onnx.defs.OpSchema, opset: int) -> str | None:
    named = {item.name for item in node.proto.attribute}
    for item in node.proto.attribute:
        known = schema.attributes.get(item.name)
        if known is None:
            return f"has no attribute {item.name} in opset {opset}"
        wanted = str(known.type).rpartition(".")[2]
        if item.type and item.type != onnx.AttributeProto.AttributeType.Value(wanted):
            given = onnx.AttributeProto.AttributeType.Name(item.type)
            return f"attribute {item.name} is {given}, expected {wanted}"
    for name, known in schema.attributes.items():
        if known.required and name not in named:
            return f"attribute {name} is missing"
    return None


def _why_words(node: NodeProto) -> str | None:
    for (op, name), words in WORDS.items():
        given = node.attributes.get(name) if op == node.op and not node.domain else None
        if given is not None and given not in words:
            return f"attribute {name} is {given!r}, expected one of {', '.join(words)}"
    return None
