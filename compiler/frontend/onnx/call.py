"""What an operator is given: the inputs of one node and its attributes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import onnx

from compiler.errors import DTypeError, ModelError
from compiler.frontend.dtypes import as_dtype
from compiler.frontend.graph import Value
from compiler.frontend.onnx.known import numbers_of
from compiler.frontend.onnx.model import Attribute, Graph
from compiler.frontend.realize import to_numpy
from compiler.frontend.symbolic import is_symbolic
from compiler.ir import DType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Series:
    """An ONNX sequence: values one after the other, of shapes of their own."""

    items: tuple[Value, ...]


Item: TypeAlias = Value | Series | None  # what a name stands for; None: left out, or nothing in it
Evaluate: TypeAlias = Callable[[Graph, Sequence[Item]], tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Call:
    """One node about to be evaluated. Missing optional inputs are None."""

    op: str
    label: str  # what errors call the node
    opset: int
    inputs: tuple[Item, ...]
    attributes: Mapping[str, Attribute]
    device: str
    outputs: int  # how many are asked for
    evaluate: Evaluate  # runs a graph among the attributes, which sees all names around it

    def item(self, index: int) -> Item:
        """An input of any form, or None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def value(self, index: int) -> Value:
        """A required tensor."""
        found = self.optional(index)
        if found is None:
            raise self.error(f"input {index} is missing")
        return found

    def optional(self, index: int) -> Value | None:
        """A tensor, or None where it is left out."""
        found = self.item(index)
        if isinstance(found, Series):
            raise self.error(f"input {index} is a sequence, expected a tensor")
        return found

    def series(self, index: int) -> Series:
        """A required sequence."""
        found = self.item(index)
        if not isinstance(found, Series):
            raise self.error(f"input {index} is no sequence")
        return found

    def values(self, start: int = 0) -> tuple[Value, ...]:
        """All tensors, from the first or a later one, of an operator that takes any number."""
        return tuple([value for value in self.inputs[start:] if isinstance(value, Value)])

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The numbers in an input that shapes depend on: they are needed before anything runs."""
        if self.optional(index) is None:
            return None
        return tuple([n if is_symbolic(n) else int(n) for n in self.numbers(index)])

    def numbers(self, index: int) -> tuple[int | float, ...]:
        """The numbers in an input, computed now; of sizes, symbolic ones stay symbolic."""
        known = numbers_of(self.value(index))
        numbers = to_numpy(self.value(index)) if known is None else known
        return tuple(numbers.reshape(-1).tolist())

    def number(self, index: int, default: float) -> float:
        """The only number in an input, computed now, or the default."""
        return default if self.optional(index) is None else self.numbers(index)[0]

    def only(self, index: int) -> int | float:
        """The only number in a required input, computed now."""
        size = self.value(index).size
        if size != 1:
            raise self.error(f"input {index} has {size} elements, expected one")
        return self.numbers(index)[0]

    def attribute(self, name: str, default: T) -> T:
        """An attribute, or its default."""
        found: T = self.attributes.get(name, default)
        return found

    def dtype(self, name: str, default: DType | None = None) -> DType:
        """The dtype that an attribute names by ONNX's number, or the default."""
        code = self.attribute(name, 0)
        if default is not None and not code:
            return default
        try:
            return as_dtype(onnx.helper.tensor_dtype_to_np_dtype(code))
        except (KeyError, TypeError, DTypeError):
            kinds = onnx.TensorProto.DataType
            wanted = kinds.Name(code) if code in kinds.values() else f"type {code}"
            raise self.error(f"to {wanted}, which tensors do not have") from None

    def axes(self, index: int = 1) -> tuple[int, ...] | None:
        """Axes: an attribute in old operators, an input in new ones."""
        if "axes" in self.attributes:
            found = self.attributes["axes"]
            return (found,) if isinstance(found, int) else tuple(found)
        return self.ints(index)

    def graph(self, name: str) -> Graph:
        """A required graph among the attributes."""
        found = self.attributes.get(name)
        if not isinstance(found, Graph):
            raise self.error(f"attribute {name} is no graph")
        return found

    def error(self, fact: str) -> ModelError:
        """An error that names this node."""
        return ModelError(f"{self.label}: {fact}")


Result: TypeAlias = Item | tuple[Item, ...]
Operator: TypeAlias = Callable[[Call], Result]
