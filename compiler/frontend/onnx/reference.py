"""What ONNX's own reference evaluator says of a model."""

from collections.abc import Mapping

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from compiler.frontend.onnx.model import Model
from compiler.frontend.storage import Array

# From this opset on an attribute says whether a BatchNormalization trains.
TRAINING_MODE = 14


class BatchNormalization(OpRun):
    """Inference of opsets 7 to 13, where a node with one output does not train.

    The evaluator of onnx 1.23 takes a momentum, which has a default, for a wish to train.
    """

    def _run(
        self, x: Array, scale: Array, bias: Array, mean: Array, var: Array, **attributes: float
    ) -> tuple[Array]:
        shape = (-1, *([1] * (x.ndim - 2)))
        scale, bias, mean, var = [a.reshape(shape) for a in (scale, bias, mean, var)]
        normal = (x - mean) / np.sqrt(var + attributes["epsilon"])
        return ((scale * normal + bias).astype(x.dtype),)


def evaluate_reference(model: Model, feed: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs by name, computed without any of our code but one formula, see above."""
    is_old = model.opsets.get("", 1) < TRAINING_MODE
    replaced: list[type[OpRun]] = [BatchNormalization] if is_old else []
    found = ReferenceEvaluator(model.proto, new_ops=replaced).run(None, dict(feed))
    return dict(zip(model.outputs, found, strict=True))
