"""Reading a model from a file or from bytes: whatever is wrong with them is one line."""

from os import PathLike
from pathlib import Path

import onnx
from google.protobuf import json_format, text_format  # type: ignore[import-untyped]  # ships no types
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # likewise

from compiler.errors import ModelError
from compiler.frontend.onnx.decode import from_proto
from compiler.frontend.onnx.model import Model

Bytes = bytes | bytearray | memoryview
_UNREADABLE = (
    OSError,
    ValueError,  # external data that is too short
    DecodeError,
    json_format.ParseError,
    text_format.ParseError,
    onnx.checker.ValidationError,  # external data outside of the model's folder
)


def load(source: str | PathLike[str] | Bytes) -> Model:
    """Read a model from a file, or from a file's bytes. Raises ModelError for what is none."""
    subject, proto = _read(source)
    if not proto.graph.output:
        raise ModelError(f"{subject}: has no outputs, it is not an ONNX model")
    return from_proto(proto, subject)


def _read(source: object) -> tuple[str, onnx.ModelProto]:
    if isinstance(source, bytes | bytearray | memoryview):
        subject = f"model of {len(source)} bytes"
        return subject, _parsed(bytes(source), subject)
    if isinstance(source, str | PathLike):
        path = Path(source)
        return f"model {path}", _parsed(path, f"model {path}")
    hint = "from_proto takes it" if isinstance(source, onnx.ModelProto) else "give it one of these"
    raise ModelError(f"model: load reads a path or bytes, not {type(source).__name__}, {hint}")


def _parsed(source: bytes | Path, subject: str) -> onnx.ModelProto:
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        return onnx.load(str(source))
    except _UNREADABLE as error:
        raise ModelError(f"{subject}: cannot be read, {' '.join(str(error).split())}") from None
