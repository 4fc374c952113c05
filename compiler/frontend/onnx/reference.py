"""What ONNX's own reference evaluator says of a model."""

from collections.abc import Mapping

from onnx.reference import ReferenceEvaluator

from compiler.frontend.onnx.model import Model
from compiler.frontend.storage import Array


def evaluate_reference(model: Model, feed: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs by name, computed without any of our code."""
    found = ReferenceEvaluator(model.proto).run(None, dict(feed))
    return dict(zip(model.outputs, found, strict=True))
