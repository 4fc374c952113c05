"""An ONNX model as plain data: graphs of nodes in order, initializers, inputs and outputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

import onnx

from compiler.frontend.storage import Array

Attribute: TypeAlias = Any  # int, float, str, tuple of them, array or Graph: what the file says
Dim: TypeAlias = int | str


class Form(Enum):
    """What an input holds."""

    TENSOR = auto()
    SEQUENCE = auto()
    OPTIONAL = auto()


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a model: a dtype and sizes, some of which only have names; None: any shape."""

    name: str
    dtype: str
    shape: tuple[Dim, ...] | None
    form: Form = Form.TENSOR


@dataclass(frozen=True, slots=True)
class NodeProto:
    """One operator call; `proto` is what ONNX needs to expand an operator into its function."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    proto: onnx.NodeProto = field(repr=False)

    @property
    def full_name(self) -> str:
        """The key of the operator: with its domain, unless that is ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    @property
    def label(self) -> str:
        """What errors call it: its name, or by what it makes if it has none."""
        made = next(filter(None, self.outputs), "nothing")
        return f"{self.full_name} {self.name or f'(makes {made})'}"


@dataclass(frozen=True, slots=True)
class Graph:
    """What a model, the branch of an If or the body of a function computes."""

    nodes: tuple[NodeProto, ...]
    initializers: Mapping[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A graph in place of a node, with opsets of its own."""

    graph: Graph
    opsets: Mapping[str, int]


FunctionKey: TypeAlias = tuple[str, str]  # domain and name


@dataclass(frozen=True, slots=True, repr=False)
class Model:
    """A whole file; `proto` is what the reference evaluator runs."""

    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, onnx.FunctionProto]
    inputs: tuple[Input, ...]
    defaults: tuple[Input, ...]  # inputs that have a value in the file and may be fed another
    proto: onnx.ModelProto

    def __repr__(self) -> str:
        """Never the weights: a model is shown in error reports and at a prompt."""
        inputs = ", ".join([item.name for item in self.inputs])
        opset, count = self.opsets.get("", 1), len(self.nodes)
        return f"<Model of {inputs} to {', '.join(self.outputs)}, {count} nodes, opset {opset}>"

    @property
    def nodes(self) -> tuple[NodeProto, ...]:
        return self.graph.nodes

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.graph.outputs
