"""ONNX's own backend interface, so that tools made for it (its test suite, too) can use ours."""

from collections.abc import Sequence

import onnx
from onnx.backend import base

from compiler.frontend.onnx.decode import from_proto
from compiler.frontend.onnx.model import Model
from compiler.frontend.onnx.run import Fed, run_any
from compiler.frontend.storage import Array


class Representation(base.BackendRep):
    """A model that can be run many times."""

    def __init__(self, model: Model, device: str) -> None:
        self.model, self.device = model, device

    def run(
        self, inputs: Sequence[Fed], **kwargs: object
    ) -> tuple[Array | list[Array] | None, ...]:
        """The outputs in order, of inputs in order."""
        names = [item.name for item in self.model.inputs]
        return tuple(
            run_any(self.model, dict(zip(names, inputs, strict=True)), self.device).values()
        )


class Backend(base.Backend):
    """`device` is one of ours: llvm, opencl, reference. ONNX's "CPU" is llvm."""

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: object
    ) -> Representation:
        """The model, checked and decoded."""
        onnx.checker.check_model(model)
        return Representation(from_proto(model), "llvm" if device == "CPU" else device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a model can be prepared for it."""
        return device in ("CPU", "llvm", "opencl", "reference")


__all__ = ["Backend", "Representation"]
