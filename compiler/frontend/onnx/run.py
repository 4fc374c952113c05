"""Evaluates a model: each node becomes lazy values, the outputs are realized together."""

from collections import Counter
from collections.abc import Mapping

from compiler.errors import ModelError
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call
from compiler.frontend.onnx.model import Model, NodeProto
from compiler.frontend.onnx.operators import OPERATORS
from compiler.frontend.realize import realize, to_numpy
from compiler.frontend.storage import Array, from_array


def run(model: Model, feed: Mapping[str, Array], device: str = "llvm") -> dict[str, Array]:
    """The outputs by name. Raises ModelError for unsupported operators and for a wrong feed."""
    check_operators(model)
    outputs = evaluate(model, feed, device)
    computed = realize(list(outputs.values()))
    return {name: to_numpy(value) for name, value in zip(outputs, computed, strict=True)}


def check_operators(model: Model) -> None:
    """Raise one ModelError that lists every unsupported operator with how often it is used."""
    missing = Counter(
        f"{node.domain}.{node.op}" if node.domain else node.op
        for node in model.nodes
        if node.domain or node.op not in OPERATORS
    )
    if missing:
        listed = ", ".join(f"{name} x{count}" for name, count in sorted(missing.items()))
        raise ModelError(f"unsupported operators: {listed}")


def evaluate(model: Model, feed: Mapping[str, Array], device: str) -> dict[str, Value]:
    """The outputs as lazy values."""
    values = {name: from_array(array, device) for name, array in model.initializers.items()}
    for item in model.inputs:
        if item.name not in feed:
            raise ModelError(f"input {item.name}: is not fed")
        array = feed[item.name]
        if array.ndim != len(item.shape) or array.dtype != item.dtype:
            expected = f"{item.dtype}{list(item.shape)}"
            raise ModelError(
                f"input {item.name}: fed {array.dtype}{list(array.shape)}, expected {expected}"
            )
        values[item.name] = from_array(array, device)
    for node in model.nodes:
        values.update(_outputs(node, values, model.opset, device))
    return {name: values[name] for name in model.outputs}


def _outputs(
    node: NodeProto, values: Mapping[str, Value], opset: int, device: str
) -> dict[str, Value]:
    inputs = tuple([values[name] if name else None for name in node.inputs])
    call = Call(
        node.op, node.name, opset, inputs, node.attributes, device, outputs=len(node.outputs)
    )
    result = OPERATORS[node.op](call)
    found = result if isinstance(result, tuple) else (result,)
    if len(found) < len([name for name in node.outputs if name]):
        raise ModelError(f"{node.op} {node.name}: only {len(found)} outputs are supported")
    return {name: value for name, value in zip(node.outputs, found, strict=False) if name}
