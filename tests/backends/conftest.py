"""Programs in linear form written as instructions, and the devices that run them."""

import numpy as np
import pytest

from compiler.backends import (
    Program,
    arguments_of,
    find_backend,
    launch_of,
    open_device,
    storage_dtype,
)
from compiler.errors import DeviceError
from compiler.ir import BOOL, INT32, VOID, AxisKind, Op, Spec, const, intern, verify


class Instructions:
    """A PROGRAM while it is written: each method appends what it makes, once."""

    def __init__(self):
        self.order = {}

    def emit(self, op, dtype, src=(), attr=()):
        for child in src:
            if child.op is Op.CONST:
                self.order.setdefault(child)
        node = intern(op, dtype, tuple(src), tuple(attr))
        self.order.setdefault(node)
        return node

    def const(self, dtype, value):
        if dtype.count > 1:
            return self.emit(Op.SPLAT, dtype, (self.const(dtype.scalar, value),))
        node = const(dtype, value)
        self.order.setdefault(node)
        return node

    def buffer(self, slot, dtype, size):
        return self.emit(Op.BUFFER, dtype, (), (slot, size))

    def read(self, buffer, offset, lanes=1, gate=()):
        return self.emit(Op.READ, buffer.dtype.vec(lanes), (buffer, offset, *gate))

    def write(self, buffer, offset, value, gate=()):
        return self.emit(Op.WRITE, VOID, (buffer, offset, value, *gate))

    def range(self, name, size, kind=AxisKind.GLOBAL):
        count = size if not isinstance(size, int) else self.const(INT32, size)
        return self.emit(Op.RANGE, INT32, (count,), (name, kind))

    def special(self, name, size):
        return self.emit(Op.SPECIAL, INT32, (self.const(INT32, size),), (name,))

    def end(self, opened, *deps):
        return self.emit(Op.END, VOID, (opened, *deps))

    def compare(self, op, a, b):
        return self.emit(op, BOOL.vec(a.dtype.count), (a, b))

    def program(self):
        node = intern(Op.PROGRAM, VOID, tuple(self.order))
        verify(node, Spec.LINEAR)
        return node


class Runner:
    """Builds and runs PROGRAMs on one device."""

    def __init__(self, device):
        self.device = device
        self.target = device.target
        self.name = device.target.backend

    def program(self, node, name="k"):
        arguments = arguments_of(node)
        source = find_backend(self.name).render(node, name, arguments, self.target)
        return Program(name, source, self.target, arguments, launch_of(node))

    def index(self, code, size):
        """The parallel index of this device: a GLOBAL range to close, or a hardware index."""
        if self.target.capabilities.has_local:
            return code.special("group0", size), lambda *deps: None
        index = code.range("g0", size)
        return index, lambda *deps: code.end(index, *deps)

    def run(self, node, inputs, variables=None):
        """Outputs by slot; buffers that `inputs` does not give start as 0xA5 bytes."""
        program = self.program(node)
        buffers = []
        for slot, argument in enumerate(a for a in program.arguments if a.is_buffer):
            buffer = self.device.allocate(argument.dtype, argument.size)
            storage = storage_dtype(argument.dtype)
            stale = np.full(argument.size * storage.itemsize, 0xA5, np.uint8).view(storage)
            self.device.upload(buffer, inputs.get(slot, stale))
            buffers.append(buffer)
        self.device.build(program)(buffers, variables or {})
        return [self.device.download(buffer) for buffer in buffers]


@pytest.fixture(scope="session")
def opencl():
    try:
        return Runner(open_device("opencl"))
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def llvm():
    return Runner(open_device("llvm"))


@pytest.fixture(params=["llvm", "opencl"])
def runner(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def code():
    return Instructions()


@pytest.fixture(scope="session")
def same_bits():
    """Asserts equality of bits, where all NaNs are one value."""

    def check(actual, expected, what=""):
        expected = np.asarray(expected, actual.dtype)
        equal = actual == expected
        if actual.dtype.kind == "f":
            equal &= np.signbit(actual) == np.signbit(expected)
            equal |= np.isnan(actual) & np.isnan(expected)
        wrong = np.flatnonzero(~equal)[:5]
        assert equal.all(), f"{what}: {[(i, actual[i], expected[i]) for i in wrong]}"

    return check
