"""ONNX models as lazy values. The third-party package `onnx` is imported here and nowhere else."""

from compiler.frontend.onnx.feeds import default_feed
from compiler.frontend.onnx.model import Input, Model, load
from compiler.frontend.onnx.reference import evaluate_reference
from compiler.frontend.onnx.run import run

__all__ = ["Input", "Model", "default_feed", "evaluate_reference", "load", "run"]
