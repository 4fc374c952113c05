"""What a backend is: a renderer and a device, and the data that passes between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.errors import DeviceError
from compiler.ir import DType, Node, Op, Size, toposort
from compiler.ir.bounds import truncated_div
from compiler.target import Target

Array: TypeAlias = npt.NDArray[Any]


class Role(Enum):
    """What a kernel does with an argument."""

    OUTPUT = "output"
    INPUT = "input"
    INOUT = "inout"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a kernel: an array `data{slot}` of `size` elements, or a variable."""

    role: Role
    name: str
    dtype: DType
    size: Size = 1
    limits: tuple[int, int] | None = None  # least and greatest value of a variable
    width: int | None = None  # of an image: the pixels of a row, where a device has rows

    @property
    def is_buffer(self) -> bool:
        return self.role is not Role.VARIABLE

    @property
    def key(self) -> int | str:
        """The slot of its BUFFER or IMAGE, or the name of its VAR: the node's first field."""
        return int(self.name.removeprefix("data")) if self.is_buffer else self.name

    @property
    def is_written(self) -> bool:
        return self.role is Role.OUTPUT or self.role is Role.INOUT


@dataclass(frozen=True, slots=True)
class Launch:
    """How often a kernel runs: work items per dimension, and how many of them form a group.

    `local_size` is empty where there are no groups. On a target without hardware indices
    `global_size` is the size of the outermost GLOBAL range, or empty: the kernel runs once.
    """

    global_size: tuple[Size, ...] = ()
    local_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimates:
    """Work of one launch, at the largest value of every variable."""

    flops: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """All a device needs to build and launch one kernel; `name` is the function's in `source`."""

    name: str
    source: str
    target: Target
    arguments: tuple[Argument, ...]
    launch: Launch
    estimates: Estimates = Estimates()


class Buffer(Protocol):
    """`size` elements of `dtype` that live on a device."""

    @property
    def dtype(self) -> DType: ...

    @property
    def size(self) -> int: ...


class Executable(Protocol):
    """A built program. Takes buffers in the order of its buffer arguments, variables by name."""

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None: ...

    def bind(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> Callable[[], None]:
        """The same call, to be made often while the buffers live."""

    def launcher(
        self, variables: Mapping[str, int] | None = None
    ) -> Callable[[Sequence[Buffer]], None]:
        """Calls with these variables, over buffers that are known to fit and share no memory."""


class Device(Protocol):
    """Where programs run. A device takes its own buffers only: another's is a DeviceError."""

    @property
    def target(self) -> Target: ...

    def why_unlike(self, target: Target) -> str | None:
        """Why this is no device of the kind that `target` describes; None if it is one."""

    def toolchain(self) -> Mapping[str, str]:
        """Names and versions of everything below us that can change a result, for provenance."""

    def allocate(self, dtype: DType, size: int) -> Buffer:
        """A buffer with undefined contents; size 0 is allowed."""

    def wrap(self, array: Array, dtype: DType) -> Buffer:
        """A buffer over a contiguous, writable array; a device with memory of its own copies it."""

    def view(self, buffer: Buffer, offset: int, size: int) -> Buffer:
        """Elements offset to offset + size of `buffer`, sharing its memory."""

    def upload(self, buffer: Buffer, array: Array) -> None:
        """Fill the buffer with as many elements of its dtype."""

    def download(self, buffer: Buffer) -> Array:
        """A new array with the buffer's contents, after all kernels that write it."""

    def release(self, buffer: Buffer) -> Array:
        """Like `download`, of a buffer that is not used again: the array may keep its memory."""

    def build(self, program: Program) -> Executable:
        """Machine code for `program`. Raises BuildError; nothing is kept of a failed build."""

    def synchronize(self) -> None:
        """Wait until every kernel that was started has finished."""


Renderer: TypeAlias = Callable[[Node, str, tuple[Argument, ...], Target], str]


@dataclass(frozen=True, slots=True)
class Backend:
    """`render` makes source from a PROGRAM node and a function name; `open` finds the device."""

    name: str
    render: Renderer
    open: Callable[[], Device]
    takes_ast: bool = False  # `render` gets the AST: no opt or pass has any part in the result


# --- launches ---

_ARITHMETIC: dict[Op, Callable[..., int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.IDIV: truncated_div,
    Op.MOD: lambda a, b: a - b * truncated_div(a, b) if b else 0,
    Op.MAX: max,
    Op.MIN: min,
    Op.NEG: lambda a: -a,
    Op.CAST: lambda a: a,
    # what passes make of the others
    Op.WHERE: lambda condition, a, b: a if condition else b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.SHL: lambda a, b: a << b,
    Op.SHR: lambda a, b: a >> b,
}


def size_value(size: Size, variables: Mapping[str, int]) -> int:
    """The number that a symbolic size stands for. Variables must be given for each VAR in it."""
    if isinstance(size, int):
        return size
    values: dict[Node, int] = {}
    for node in toposort(size):
        if node.op is Op.VAR:
            values[node] = variables[node.attr[0]]
        elif node.op is Op.CONST:
            values[node] = int(node.value)
        else:
            values[node] = _ARITHMETIC[node.op](*[values[source] for source in node.src])
    return values[size]


def variable_values(program: Program, variables: Mapping[str, int]) -> list[int]:
    """The program's variables in order. DeviceError for one that is missing or does not fit."""
    values: list[int] = []
    for argument in program.arguments:
        if argument.is_buffer:
            continue
        if argument.name not in variables:
            raise DeviceError(f"{program.name}: variable {argument.name} has no value")
        value = variables[argument.name]
        if not isinstance(value, (int, np.integer)):
            raise DeviceError(
                f"{program.name}: variable {argument.name} is {value!r}, expected an integer"
            )
        low, high = argument.limits or (value, value)
        if not low <= value <= high:
            raise DeviceError(
                f"{program.name}: variable {argument.name} is {value}, expected {low} to {high}"
            )
        values.append(value)
    return values


def check_buffers(
    program: Program, buffers: Sequence[Buffer], variables: Mapping[str, int]
) -> None:
    """Raise DeviceError unless each buffer argument has a buffer of its dtype and size."""
    wanted = [argument for argument in program.arguments if argument.is_buffer]
    if len(buffers) != len(wanted):
        raise DeviceError(f"{program.name}: {len(buffers)} buffers given, it takes {len(wanted)}")
    for argument, buffer in zip(wanted, buffers, strict=True):
        size = argument.size
        least = size if isinstance(size, int) else size_value(size, variables)
        if buffer.dtype is not argument.dtype or buffer.size < least:
            raise DeviceError(
                f"{program.name}: argument {argument.name} is {buffer.size} {buffer.dtype}, "
                f"expected {least} {argument.dtype}"
            )


# --- host memory ---

_NUMPY_NAMES = {"bfloat16": "uint16"}  # NumPy has no bfloat16: its bits are handed over


@cache
def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype in which elements cross to and from a device."""
    return np.dtype(_NUMPY_NAMES.get(dtype.name, dtype.name))


def as_storage(array: Array, dtype: DType, size: int) -> Array:
    """`array` flat, contiguous and in the storage dtype. DeviceError unless it fits a buffer."""
    wanted = storage_dtype(dtype)
    if array.dtype != wanted and (array.dtype.itemsize != 2 or array.dtype.name != dtype.name):
        raise DeviceError(f"upload of {array.dtype} to a buffer of {dtype}: cast it first")
    if array.size != size:
        raise DeviceError(f"upload of {array.size} elements to a buffer of {size}")
    return np.ascontiguousarray(array).view(wanted).reshape(-1)
