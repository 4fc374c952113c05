"""ONNX models as lazy values. The third-party package `onnx` is imported here and nowhere else."""

from compiler.frontend.onnx.backend import Backend
from compiler.frontend.onnx.decode import from_proto
from compiler.frontend.onnx.feeds import default_feed
from compiler.frontend.onnx.model import Input, Model
from compiler.frontend.onnx.read import load
from compiler.frontend.onnx.reference import evaluate_reference
from compiler.frontend.onnx.run import run, run_any

__all__ = [
    "Backend", "Input", "Model", "default_feed", "evaluate_reference", "from_proto", "load", "run",
    "run_any",
]  # fmt: skip
