"""The reference as a device: a program's source is the text of its AST, evaluated at every call."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from compiler.backends.base import (
    Array,
    Buffer,
    Program,
    as_storage,
    check_buffers,
    storage_dtype,
    variable_values,
)
from compiler.backends.reference.evaluation import evaluate
from compiler.errors import BuildError, DeviceError, DeviceMemoryError, ParseError
from compiler.ir import ARRAYS, DType, Node, parse_node, toposort
from compiler.target import REFERENCE, Target


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceBuffer:
    """Elements in this process's memory; `array` is flat, in the storage dtype."""

    dtype: DType
    size: int
    array: Array


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceExecutable:
    """A parsed stage; `slots` are those of its buffer arguments, in order."""

    program: Program
    root: Node
    slots: tuple[int, ...]

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None:
        """Evaluate and write the results. Raises DeviceError for arguments that do not fit."""
        values = variables or {}
        variable_values(self.program, values)
        check_buffers(self.program, buffers, values)
        arrays = [_array(self.program, buffer) for buffer in buffers]
        memory = dict(zip(self.slots, arrays, strict=True))
        for slot, result in evaluate(self.root, memory, values).items():
            memory[slot][...] = result

    def bind(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> Callable[[], None]:
        """The same call, to be made often; it is checked each time."""
        return partial(self, buffers, variables)

    def launcher(
        self, variables: Mapping[str, int] | None = None
    ) -> Callable[[Sequence[Buffer]], None]:
        """The same calls; they are checked all the same."""
        return partial(self, variables=variables)


def _array(program: Program, buffer: Buffer) -> Array:
    if not isinstance(buffer, ReferenceBuffer):
        raise DeviceError(f"{program.name}: a buffer is not on the reference device")
    return buffer.array


class ReferenceDevice:
    """NumPy in this process. Has no state."""

    target = REFERENCE

    def why_unlike(self, target: Target) -> str | None:
        is_mine = target.backend == self.target.backend
        return None if is_mine else f"{target.name}: this is the reference device"

    def toolchain(self) -> Mapping[str, str]:
        return {"numpy": np.__version__, "python": platform.python_version()}

    def allocate(self, dtype: DType, size: int) -> ReferenceBuffer:
        try:
            array = np.zeros(size, storage_dtype(dtype))
        except (MemoryError, ValueError):  # ValueError: beyond what an array can have at all
            raise DeviceMemoryError(f"reference: {size} {dtype} do not fit in memory") from None
        return ReferenceBuffer(dtype, size, array)

    def wrap(self, array: Array, dtype: DType) -> ReferenceBuffer:
        return ReferenceBuffer(dtype, array.size, as_storage(array, dtype, array.size))

    def view(self, buffer: Buffer, offset: int, size: int) -> ReferenceBuffer:
        assert isinstance(buffer, ReferenceBuffer)
        return ReferenceBuffer(buffer.dtype, size, buffer.array[offset : offset + size])

    def upload(self, buffer: Buffer, array: Array) -> None:
        assert isinstance(buffer, ReferenceBuffer)
        buffer.array[...] = as_storage(array, buffer.dtype, buffer.size)

    def download(self, buffer: Buffer) -> Array:
        assert isinstance(buffer, ReferenceBuffer)
        return buffer.array.copy()

    def release(self, buffer: Buffer) -> Array:
        """A copy: the buffer's memory is not the host's to keep."""
        return self.download(buffer)

    def build(self, program: Program) -> ReferenceExecutable:
        try:
            root = parse_node(program.source)
        except ParseError as error:
            message = f"{program.name}: {error}"
            raise BuildError(message, kernel=program.name, source=program.source) from error
        slots = sorted(node.attr[0] for node in toposort(root) if node.op in ARRAYS)
        return ReferenceExecutable(program, root, tuple(slots))

    def synchronize(self) -> None:
        return None
