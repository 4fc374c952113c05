"""What an operator is given: the inputs of one node and its attributes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from compiler.errors import ModelError
from compiler.frontend.graph import Value
from compiler.frontend.onnx.model import Attribute
from compiler.frontend.realize import to_numpy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One node about to be evaluated. Missing optional inputs are None."""

    op: str
    name: str
    opset: int
    inputs: tuple[Value | None, ...]
    attributes: Mapping[str, Attribute]
    device: str
    outputs: int  # how many are asked for

    def value(self, index: int) -> Value:
        """A required input."""
        found = self.optional(index)
        if found is None:
            raise ModelError(f"{self.op} {self.name}: input {index} is missing")
        return found

    def optional(self, index: int) -> Value | None:
        """An input, or None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def values(self) -> tuple[Value, ...]:
        """All inputs of an operator that takes any number."""
        return tuple([value for value in self.inputs if value is not None])

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The numbers in an input that shapes depend on: they are needed before anything runs."""
        if self.optional(index) is None:
            return None
        return tuple([int(number) for number in self.numbers(index)])

    def numbers(self, index: int) -> tuple[int | float, ...]:
        """The numbers in an input, computed now."""
        return tuple(to_numpy(self.value(index)).reshape(-1).tolist())

    def attribute(self, name: str, default: T) -> T:
        """An attribute, or its default."""
        found: T = self.attributes.get(name, default)
        return found

    def axes(self, index: int = 1) -> tuple[int, ...] | None:
        """Axes: an attribute in old operators, an input in new ones."""
        if "axes" in self.attributes:
            return tuple(self.attributes["axes"])
        return self.ints(index)


Operator: TypeAlias = Callable[[Call], Value | tuple[Value, ...]]
