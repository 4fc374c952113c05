"""An OpenCL device: buffers, programs built by its driver, kernels in one queue."""

import atexit
import math
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl._cl import _Program  # cl.Program caches on disk what it then unpickles

from compiler.backends.base import (
    Array,
    Buffer,
    Program,
    as_storage,
    check_buffers,
    size_value,
    storage_dtype,
    variable_values,
)
from compiler.backends.opencl.devices import all_devices, describe, quiet_caches
from compiler.backends.opencl.joint import groups_of
from compiler.backends.opencl.mends import mended
from compiler.backends.opencl.mirrors import (
    DeviceBuffer,
    Mirror,
    Newest,
    as_image,
    as_memory,
    has_written,
    image_support,
)
from compiler.backends.opencl.probe import DeviceId, working_device
from compiler.errors import BuildError, DeviceError, DeviceMemoryError
from compiler.ir import DType
from compiler.target import OPENCL, Target

MAX_BUILT = 4096  # programs kept per device
OPTIONS = ("-cl-std=CL1.2",)
_MAKES = {  # profile -> what its platforms have in their names
    "pocl": "Portable Computing Language",
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "adreno": "QUALCOMM",
}

_initialized_in: int | None = None  # the process that first used OpenCL; owned by open_device


@dataclass(frozen=True, slots=True, eq=False)
class DeviceExecutable:
    """A built kernel. A call starts it; `download` and `synchronize` wait."""

    program: Program
    kernel: cl.Kernel
    device: "OpenCLDevice"
    variable_types: tuple[np.dtype[Any], ...]
    written: tuple[int, ...]
    images: Mapping[int, tuple[int, int]]  # which buffers are taken as images: width and elements

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None:
        """Start the kernel. Raises DeviceError for arguments that do not fit."""
        values = variables or {}
        self.device.check_process()
        numbers = variable_values(self.program, values)  # before sizes are made of them
        check_buffers(self.program, buffers, values)
        memory = [_own(buffer) for buffer in buffers]
        for index in self.written:
            _refuse_overlap(self.program, memory, index)
        launch = self.program.launch
        items = tuple([size_value(size, values) for size in launch.global_size]) or (1,)
        if min(items) <= 0:
            return
        arguments: list[Any] = [self._memory(index, each) for index, each in enumerate(memory)]
        pairs = zip(self.variable_types, numbers, strict=True)
        arguments += [dtype.type(number) for dtype, number in pairs]
        self.device.enqueue(self.program.name, self.kernel, arguments, items, launch.local_size)
        for index in self.written:
            if index in self.images:
                self.device.has_written(memory[index])

    def _memory(self, index: int, buffer: DeviceBuffer) -> cl.MemoryObject:
        """What the kernel takes of a buffer: its memory, or an image of its elements."""
        if index in self.images:
            return self.device.as_image(buffer, *self.images[index])
        return self.device.as_memory(buffer, is_written=index in self.written)

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


def _images_of(program: Program) -> dict[int, tuple[int, int]]:
    """The width and the elements of each buffer argument that the kernel takes as an image."""
    if not program.target.capabilities.images:
        return {}
    buffers = [argument for argument in program.arguments if argument.is_buffer]
    found: dict[int, tuple[int, int]] = {}
    for index, argument in enumerate(buffers):
        if argument.width is not None:
            assert isinstance(argument.size, int), "an image has a size"
            found[index] = (argument.width, argument.size)
    return found


def _refuse_overlap(program: Program, buffers: Sequence[DeviceBuffer], written: int) -> None:
    """The kernel's `restrict` promises that no other argument sees what it writes."""
    mine = buffers[written]
    for index, other in enumerate(buffers):
        if index == written or other.root is not mine.root:
            continue
        if mine.origin < other.origin + other.nbytes and other.origin < mine.origin + mine.nbytes:
            raise DeviceError(
                f"{program.name}: buffer {written}, which it writes, shares memory with {index}"
            )


@dataclass(slots=True, eq=False)
class OpenCLDevice:
    """One device, with one queue that runs kernels in order."""

    id: DeviceId
    handle: cl.Device
    context: cl.Context
    queue: cl.CommandQueue
    options: tuple[str, ...]
    process: int
    target: Target = OPENCL
    _built: OrderedDict[tuple[str, str], cl.Kernel] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check_process(self) -> None:
        """Raise DeviceError in a child forked after OpenCL was initialised: it would hang."""
        _refuse_fork(self.process)

    def why_unlike(self, target: Target) -> str | None:
        """Why the device is not of the make, or lacks something, that `target` describes."""
        extensions = self.handle.extensions.split()
        makes = {self.target.profile: "", **_MAKES}  # the first profile is what all have in common
        make = makes.get(target.profile)
        if target.backend != self.target.backend or make is None or make not in self.id.platform:
            return f"{target.name}: this is {self.id}"
        if target.capabilities.float16_math and "cl_khr_fp16" not in extensions:
            return f"{target.name}: {self.id} has no cl_khr_fp16"
        if target.capabilities.images and not self.handle.image_support:
            return f"{target.name}: {self.id} has no images"
        return None

    def toolchain(self) -> dict[str, str]:
        """Platform, device, versions, and what the device promises of float32."""
        return {
            "platform": self.id.platform,
            "platform_version": self.id.platform_version,
            "device": self.id.device,
            "driver": self.id.driver,
            "float32": " ".join(float32_promises(self.handle)),
            "options": " ".join(self.options),
            "images": image_support(self.context, self.handle),
        }

    def allocate(self, dtype: DType, size: int) -> DeviceBuffer:
        """`size` undefined elements."""
        self.check_process()
        nbytes = max(1, size * dtype.itemsize)  # a buffer of no bytes is an error in OpenCL
        if nbytes > _MOST_BYTES:
            raise DeviceMemoryError(f"opencl: {size} {dtype} do not fit on the device")
        try:
            memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.Error as error:
            raise DeviceMemoryError(
                f"opencl: {size} {dtype} do not fit on the device: {error}"
            ) from None
        return DeviceBuffer(dtype, size, memory, memory, mirror=Mirror(newest=Newest.NOWHERE))

    def wrap(self, array: Array, dtype: DType) -> DeviceBuffer:
        """A copy on the device: kernels do not see the caller's memory."""
        buffer = self.allocate(dtype, array.size)
        self.upload(buffer, array)
        return buffer

    def view(self, buffer: Buffer, offset: int, size: int) -> DeviceBuffer:
        """Part of a buffer, in the same memory; its offset fits the device's alignment."""
        self.check_process()
        whole = _own(buffer)
        origin = whole.origin + offset * whole.dtype.itemsize
        if offset < 0 or size < 0 or offset + size > whole.size:
            raise DeviceError(f"view of elements {offset} to {offset + size} of {whole.size}")
        if size == 0:
            return self.allocate(whole.dtype, 0)  # OpenCL has no region of no bytes
        alignment = self.handle.mem_base_addr_align // 8
        if origin % alignment:
            raise DeviceError(f"view at byte {origin}: opencl wants a multiple of {alignment}")
        self.as_memory(whole, is_written=True)  # by way of the part, maybe
        memory = whole.root.get_sub_region(origin, size * whole.dtype.itemsize)
        whole.mirror.is_shared = True
        return DeviceBuffer(whole.dtype, size, memory, whole.root, origin, Mirror(is_shared=True))

    def as_memory(self, buffer: DeviceBuffer, *, is_written: bool) -> cl.Buffer:
        """The memory of a buffer, with its elements in it."""
        with self._lock, _driver_errors("copy of an image"):
            return as_memory(self.queue, buffer, is_written=is_written)

    def as_image(self, buffer: DeviceBuffer, width: int, size: int) -> cl.Image:
        """An image with the buffer's elements in it."""
        with self._lock, _driver_errors("copy to an image"):
            return as_image(self.queue, buffer, width, size)

    def has_written(self, buffer: DeviceBuffer) -> None:
        """A kernel that writes the image of this buffer has been started."""
        with self._lock, _driver_errors("copy of an image"):
            has_written(self.queue, buffer)

    def upload(self, buffer: Buffer, array: Array) -> None:
        """Copy an array to the device."""
        self.check_process()
        stored = as_storage(array, buffer.dtype, buffer.size)
        if buffer.size:
            with _driver_errors("upload"):
                memory = self.as_memory(_own(buffer), is_written=True)
                cl.enqueue_copy(self.queue, memory, stored)

    def download(self, buffer: Buffer) -> Array:
        """A copy of the buffer, after everything that was started before."""
        self.check_process()
        result = np.empty(buffer.size, storage_dtype(buffer.dtype))
        if buffer.size:
            with _driver_errors("download"):
                memory = self.as_memory(_own(buffer), is_written=False)
                cl.enqueue_copy(self.queue, result, memory)
        return result

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self.check_process()
        with _driver_errors("synchronize"):
            self.queue.finish()

    def release(self, buffer: Buffer) -> Array:
        """A copy: the buffer's memory is not the host's to keep."""
        return self.download(buffer)

    def build(self, program: Program) -> DeviceExecutable:
        """A kernel for `program`, from memory where the same source was built before."""
        self.check_process()
        key = (program.name, program.source)
        with self._lock:
            kernel = self._built.get(key)
            if kernel is None:
                kernel = self._kernel(program)
                self._keep(program, kernel)
        buffers = [argument for argument in program.arguments if argument.is_buffer]
        variables = [argument for argument in program.arguments if not argument.is_buffer]
        return DeviceExecutable(
            program,
            kernel,
            self,
            tuple([storage_dtype(argument.dtype) for argument in variables]),
            tuple([index for index, argument in enumerate(buffers) if argument.is_written]),
            _images_of(program),
        )

    def build_ahead(self, programs: Sequence[Program]) -> None:
        """Build many at once and keep them for `build`: a driver reads its headers once, not once
        for each, which is most of the work. What cannot be built so is left to `build`."""
        self.check_process()
        for group in groups_of([each for each in programs if self._why_unfit(each) is None]):
            built = self._program("\n".join([program.source for program in group]))
            try:
                self._compile(built)
                kernels = [cl.Kernel(built, program.name) for program in group]
            except cl.Error:
                continue  # whose fault it is shows when each is built alone
            with self._lock:
                for program, kernel in zip(group, kernels, strict=True):
                    self._keep(program, kernel)

    def _keep(self, program: Program, kernel: cl.Kernel) -> None:
        self._built[program.name, program.source] = kernel
        if len(self._built) > MAX_BUILT:
            self._built.popitem(last=False)

    def _kernel(self, program: Program) -> cl.Kernel:
        if (why := self._why_unfit(program)) is not None:
            raise _build_error(program, why)
        built = self._program(program.source)
        try:
            self._compile(built)
            return cl.Kernel(built, program.name)
        except cl.Error as error:
            log = str(built.get_build_info(self.handle, cl.program_build_info.LOG))
            raise _build_error(program, log or str(error)) from None

    def _program(self, source: str) -> _Program:
        return _Program(self.context, mended(self.id.platform, source))

    def _compile(self, built: _Program) -> None:
        built._build(options=" ".join(self.options).encode())  # noqa: SLF001  # see its import

    def _why_unfit(self, program: Program) -> str | None:
        """Why the device cannot take the program's arguments; None if it can."""
        space = sum([8 if a.is_buffer else a.dtype.itemsize for a in program.arguments])
        if space > self.handle.max_parameter_size:
            return f"arguments of {space} bytes, the device takes {self.handle.max_parameter_size}"
        if _images_of(program) and not self.handle.image_support:
            return f"takes images, {self.id} has none"
        return None

    def enqueue(
        self,
        name: str,
        kernel: cl.Kernel,
        arguments: Sequence[Any],
        items: tuple[int, ...],
        group: tuple[int, ...],
    ) -> None:
        """Start a kernel over `items` work items in groups of `group`, or of any size if ()."""
        limit = self.handle.max_work_group_size
        if math.prod(group) > limit:
            raise DeviceError(f"{name}: groups of {math.prod(group)}, the device takes {limit}")
        with self._lock, _driver_errors(name):  # setting arguments and starting belong together
            for index, argument in enumerate(arguments):
                kernel.set_arg(index, argument)
            cl.enqueue_nd_range_kernel(self.queue, kernel, items, group or _any_group(items))


def _any_group(items: tuple[int, ...]) -> tuple[int, ...]:
    """Groups for a kernel that does not care: few sizes, for PoCL compiles anew for each."""
    first = next(size for size in (64, 32, 16, 8, 4, 2, 1) if items[0] % size == 0)
    return (first, *[1] * (len(items) - 1))


@contextmanager
def _driver_errors(what: str) -> Iterator[None]:
    """Turn an error code of the driver into our exception."""
    try:
        yield
    except cl.Error as error:
        raised = DeviceMemoryError if error.code in _NO_MEMORY else DeviceError
        raise raised(f"opencl: {what}: {' '.join(str(error).split())}") from None


_MOST_BYTES = 2**64 - 1  # that the API can be asked for
_NO_MEMORY = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
)


_SOURCE_FILE = re.compile(
    r"[^\s<>=:]*/[^\s<>=:]*\.cl\b"
)  # a name of the driver's own, new each time


def _build_error(program: Program, log: str) -> BuildError:
    log = _SOURCE_FILE.sub("kernel.cl", log)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    why = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    return BuildError(
        f"opencl: kernel {program.name}: {why}", kernel=program.name, source=program.source, log=log
    )


def _own(buffer: Buffer) -> DeviceBuffer:
    if not isinstance(buffer, DeviceBuffer):
        raise DeviceError("buffer is not on the opencl device: upload its contents to a new one")
    return buffer


# --- opening ---

_PROMISES = ("INF_NAN", "DENORM", "CORRECTLY_ROUNDED_DIVIDE_SQRT")


def float32_promises(handle: cl.Device) -> tuple[str, ...]:
    """Which of the properties that bit identity needs the device reports for float32."""
    config = handle.single_fp_config
    return tuple([name for name in _PROMISES if config & getattr(cl.device_fp_config, name)])


def open_device(known: DeviceId | None = None) -> OpenCLDevice:
    """The first device that works, or the one `known` to work from an earlier probe."""
    global _initialized_in  # noqa: PLW0603  # one fact per process
    if _initialized_in is not None:
        _refuse_fork(_initialized_in)
    wanted = known or working_device()
    quiet_caches()
    _initialized_in = os.getpid()
    handle = _find(wanted)
    options: tuple[str, ...] = OPTIONS
    if "CORRECTLY_ROUNDED_DIVIDE_SQRT" in float32_promises(handle):
        options += ("-cl-fp32-correctly-rounded-divide-sqrt",)
    with _driver_errors(f"opening {wanted}"):
        context = cl.Context([handle])
        queue = cl.CommandQueue(context, handle)
    # PoCL may still be building at exit: it needs its directory, and fails or crashes without
    atexit.register(_finish, queue, os.getpid())
    return OpenCLDevice(wanted, handle, context, queue, options, os.getpid())


def _finish(queue: cl.CommandQueue, process: int) -> None:
    if process == os.getpid():  # a forked child has no queue
        with suppress(cl.Error):
            queue.finish()


def _find(wanted: DeviceId) -> cl.Device:
    same = [
        (position != wanted.position, position, device)
        for position, device in enumerate(all_devices())
        if DeviceId(wanted.position, **describe(device)) == wanted
    ]
    if not same:
        raise DeviceError(f"opencl: {wanted} is gone since it was found to work")
    return min(same, key=lambda found: found[:2])[2]


def _refuse_fork(process: int) -> None:
    if process != os.getpid():
        raise DeviceError(
            "opencl: this process was forked from one that had OpenCL open, and would hang: "
            "start it with multiprocessing's spawn method"
        )
