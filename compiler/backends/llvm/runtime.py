"""The host's CPU as a device: NumPy memory, machine code from LLVM, a shared pool of threads."""

import ctypes
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import llvmlite.binding as llvm

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
from compiler.backends.llvm.compile import (
    Compiler,
    Host,
    build_error,
    find_elsewhere,
    find_host,
    link_log,
)
from compiler.backends.llvm.streams import LINE_BYTES, MARK
from compiler.backends.memory import copied, empty, is_whole
from compiler.errors import DeviceError, DeviceMemoryError
from compiler.ir import DType, Size
from compiler.target import LLVM, Target

PARALLEL_NS = 200_000  # starting and joining a thread costs 57 us
FLOPS_PER_NS, BYTES_PER_NS = 8, 16  # of one core, roughly: they only choose between 1 and n threads
MAX_LOADED = 4096  # built programs kept per device


@dataclass(slots=True, eq=False)  # never changed, but a frozen one takes ten times as long to make
class HostBuffer:
    """Elements in this process's memory; `array` is flat, in the storage dtype."""

    dtype: DType
    size: int
    array: Array
    address: int


class Pool:
    """Threads shared by all kernels of a process; made when first needed, and anew after a fork."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None  # owned by run(), replaced under the lock
        self._pid = 0

    def run(self, function: Callable[[int, int], None], count: int) -> None:
        """`function(lo, hi)` over 0..count in equal parts; the caller works on the first."""
        parts = min(self.threads, count)
        cuts = [count * part // parts for part in range(parts + 1)]
        executor = self._running()
        rest = [executor.submit(function, cuts[i], cuts[i + 1]) for i in range(1, parts)]
        function(cuts[0], cuts[1])
        for part in rest:
            part.result()

    def _running(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None or self._pid != os.getpid():
                self._executor = ThreadPoolExecutor(max(1, self.threads - 1), "kernel")
                self._pid = os.getpid()
            return self._executor


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A function in memory. LLVM unloads it when the tracker is garbage."""

    address: int
    tracker: llvm.ResourceTracker


@dataclass(frozen=True, slots=True, eq=False)
class HostExecutable:
    """A program in memory. Calls from several threads at once are fine."""

    program: Program
    loaded: _Loaded
    pool: Pool
    function: Callable[..., None]
    count: Size  # of the outermost range
    work_ns: float  # of one of its indices
    has_variables: bool
    wanted: tuple[tuple[DType, int], ...] | None  # of each buffer, None where sizes are symbolic
    written: tuple[int, ...]
    streams: bool  # what is written has to be aligned

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None:
        """Run to the end. Raises DeviceError for arguments that do not fit."""
        self.bind(buffers, variables)()

    def bind(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> Callable[[], None]:
        """The launch over these buffers, which must live as long as it is called; checked here."""
        values = variables or {}
        numbers = variable_values(self.program, values) if self.has_variables else ()
        addresses = self._addresses(buffers, values)
        if self.streams and self._is_crooked(addresses):
            return partial(self._run_aligned, buffers, values)
        count = self.count if isinstance(self.count, int) else size_value(self.count, values)
        if count <= 0:
            return _nothing
        if self._is_alone(count):
            return partial(self.function, *addresses, *numbers, 0, count)
        return partial(self.pool.run, partial(self.function, *addresses, *numbers), count)

    def launcher(
        self, variables: Mapping[str, int] | None = None
    ) -> Callable[[Sequence[Buffer]], None]:
        """Calls over buffers that are known to fit: nothing is checked."""
        values = variables or {}
        numbers = variable_values(self.program, values) if self.has_variables else []
        count = size_value(self.count, values)
        run, function, is_alone = self.pool.run, self.function, self._is_alone(count)

        def launch(buffers: Sequence[Buffer]) -> None:
            addresses = [buffer.address for buffer in buffers]  # type: ignore[attr-defined]  # they are ours
            if self.streams and self._is_crooked(addresses):
                self._run_aligned(buffers, values)
            elif is_alone:
                function(*addresses, *numbers, 0, count)
            else:
                run(partial(function, *addresses, *numbers), count)

        return launch if count > 0 else _no_launch

    def _is_crooked(self, addresses: Sequence[int]) -> bool:
        """Whether something that is written does not begin with a cache line."""
        return any(addresses[index] % LINE_BYTES for index in self.written)

    def _run_aligned(self, buffers: Sequence[Buffer], values: Mapping[str, int]) -> None:
        """Run over aligned copies of what is written, and copy that back."""
        arrays = {index: _own(buffers[index]).array for index in self.written}
        places = list(buffers)
        for index, array in arrays.items():
            fresh = copied(array)
            places[index] = HostBuffer(buffers[index].dtype, fresh.size, fresh, fresh.ctypes.data)
        self.bind(places, values)()
        for index, array in arrays.items():
            array[...] = _own(places[index]).array

    def _is_alone(self, count: int) -> bool:
        """Whether one thread is enough."""
        return count == 1 or self.pool.threads == 1 or count * self.work_ns < PARALLEL_NS

    def _addresses(self, buffers: Sequence[Buffer], values: Mapping[str, int]) -> list[int]:
        fits = self.wanted is not None and len(buffers) == len(self.wanted)
        addresses: list[int] = []
        for index, buffer in enumerate(buffers):
            if not isinstance(buffer, HostBuffer):
                raise DeviceError(f"{self.program.name}: buffer {index} is not on the llvm device")
            addresses.append(buffer.address)
            if fits and self.wanted is not None:
                dtype, least = self.wanted[index]
                fits = buffer.dtype is dtype and buffer.size >= least
        if not fits:
            check_buffers(self.program, buffers, values)
        for index in self.written:
            _refuse_overlap(self.program, buffers, index)
        return addresses


def _nothing() -> None:
    """The launch of a kernel that has nothing to do."""


def _no_launch(buffers: Sequence[Buffer]) -> None:
    """The same over any buffers."""


def _refuse_overlap(program: Program, buffers: Sequence[Any], written: int) -> None:
    """The function promises LLVM that no other argument sees what it writes."""
    start = buffers[written].address
    stop = start + buffers[written].array.nbytes
    for index, other in enumerate(buffers):
        if index != written and start < other.address + other.array.nbytes and other.address < stop:
            raise DeviceError(
                f"{program.name}: buffer {written}, which it writes, shares memory with {index}"
            )


@dataclass(slots=True, eq=False)
class HostDevice:
    """The llvm device. `threads` bounds how many cores one kernel uses."""

    host: Host
    compiler: Compiler
    jit: llvm.LLJIT
    pool: Pool
    target: Target = LLVM
    _loaded: OrderedDict[tuple[str, str], _Loaded] = field(default_factory=OrderedDict)
    _libraries: int = 0  # LLVM wants a new name for each; compared with nothing
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def why_unlike(self, target: Target) -> str | None:
        """Why the host is none of the CPUs that `target` describes."""
        if target.backend != self.target.backend:
            return f"{target.name}: this is the llvm device"
        why = self.host.why_unlike(target.profile, target.capabilities.cpu_features)
        return None if why is None else f"{target.name}: {why}"

    def toolchain(self) -> dict[str, str]:
        """LLVM's version and the CPU it compiles for."""
        return {
            "llvm": ".".join(map(str, llvm.llvm_version_info)),
            "cpu": self.host.cpu,
            "features": self.host.features,
        }

    def allocate(self, dtype: DType, size: int) -> HostBuffer:
        """`size` undefined elements, aligned to a cache line."""
        storage = storage_dtype(dtype)
        try:
            array = empty(storage, size)
        except (MemoryError, ValueError):  # ValueError: beyond what an array can have at all
            raise DeviceMemoryError(f"llvm: {size} {dtype} do not fit in memory") from None
        return HostBuffer(dtype, size, array, array.ctypes.data)

    def wrap(self, array: Array, dtype: DType) -> HostBuffer:
        """The caller's own memory as a buffer: kernels read and write it in place."""
        if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
            raise DeviceError("wrap: the array is not contiguous, aligned and writable, upload it")
        if array.dtype.itemsize != storage_dtype(dtype).itemsize:
            raise DeviceError(f"wrap: {array.dtype} is not stored like {dtype}, cast it first")
        flat = array.reshape(-1).view(storage_dtype(dtype))
        return HostBuffer(dtype, flat.size, flat, flat.ctypes.data)

    def view(self, buffer: Buffer, offset: int, size: int) -> HostBuffer:
        """Part of a buffer, in the same memory."""
        array = _own(buffer).array[offset : offset + size]
        if array.size != size or offset < 0:
            raise DeviceError(f"view of elements {offset} to {offset + size} of {buffer.size}")
        return HostBuffer(buffer.dtype, size, array, array.ctypes.data)

    def upload(self, buffer: Buffer, array: Array) -> None:
        """Copy an array into the buffer."""
        _own(buffer).array[:] = as_storage(array, buffer.dtype, buffer.size)

    def download(self, buffer: Buffer) -> Array:
        """A copy of the buffer."""
        return copied(_own(buffer).array)

    def release(self, buffer: Buffer) -> Array:
        """The buffer's own memory, unless it is part of some larger one or the caller's."""
        array = _own(buffer).array
        return array if is_whole(array) else copied(array)

    def synchronize(self) -> None:
        """Nothing to wait for: a call returns when its kernel is done."""

    def build(self, program: Program) -> HostExecutable:
        """Machine code for `program`, from memory where the same source was built before."""
        key = (program.name, program.source)
        loaded = self._loaded.get(key)
        if loaded is None:
            with self._lock:
                loaded = self._loaded.get(key) or self._load(program)
                self._loaded[key] = loaded
                if len(self._loaded) > MAX_LOADED:
                    self._loaded.popitem(last=False)
        return _executable(program, loaded, self.pool)

    def _load(self, program: Program) -> _Loaded:
        _refuse_missing(program, self.host)
        image = self.compiler.object_file(program.source, program.name)
        self._libraries += 1
        library = llvm.JITLibraryBuilder().add_object_img(image).export_symbol(program.name)
        library.add_current_process()  # libm, and the memset and memcpy that LLVM recognises
        try:
            tracker = library.link(self.jit, f"library{self._libraries}")
            address = tracker[program.name]
        except RuntimeError as error:
            log = link_log(program.source, str(error))
            raise build_error(program.name, program.source, log) from None
        return _Loaded(address, tracker)

    def assembly(self, program: Program) -> str:
        """The machine code of `program`, for people and llvm-mca."""
        with self._lock:
            return self.compiler.assembly(program.source, program.name)

    def assembly_elsewhere(self, program: Program) -> str | None:
        """The machine code for the CPU that the program's profile describes, if LLVM knows one."""
        target = program.target
        there = find_elsewhere(target.profile, target.capabilities.cpu_features)
        return None if there is None else Compiler(there).assembly(program.source, program.name)


def _refuse_missing(program: Program, host: Host) -> None:
    """LLVM ends the process on an instruction that the CPU does not have."""
    has = host.features.split(",")
    for feature in program.target.capabilities.cpu_features:
        if f"+{feature}" not in has:
            raise DeviceError(
                f"{program.name}: {program.target.profile} needs {feature}, {host.cpu} has none"
            )


def _own(buffer: Buffer) -> HostBuffer:
    if not isinstance(buffer, HostBuffer):
        raise DeviceError("buffer is not on the llvm device: upload its contents to a new one")
    return buffer


_INTEGERS = {(8, True): ctypes.c_int8, (16, True): ctypes.c_int16, (32, True): ctypes.c_int32,
             (64, True): ctypes.c_int64, (8, False): ctypes.c_uint8, (16, False): ctypes.c_uint16,
             (32, False): ctypes.c_uint32, (64, False): ctypes.c_uint64}  # fmt: skip


def _executable(program: Program, loaded: _Loaded, pool: Pool) -> HostExecutable:
    buffers = [argument for argument in program.arguments if argument.is_buffer]
    types: list[Any] = [ctypes.c_void_p] * len(buffers)
    for argument in program.arguments:
        if not argument.is_buffer:
            types.append(_INTEGERS[argument.dtype.bits, argument.dtype.is_signed])
    function = ctypes.CFUNCTYPE(None, *types, ctypes.c_int64, ctypes.c_int64)(loaded.address)
    fixed = [(a.dtype, a.size) for a in buffers if isinstance(a.size, int)]
    return HostExecutable(
        program,
        loaded,
        pool,
        function,
        (*program.launch.global_size, 1)[0],
        _work_ns(program),
        len(buffers) < len(program.arguments),
        tuple(fixed) if len(fixed) == len(buffers) else None,
        tuple([index for index, argument in enumerate(buffers) if argument.is_written]),
        MARK in program.source,
    )


def _work_ns(program: Program) -> float:
    """Time of one index of the outermost range, guessed from the estimates."""
    work = program.estimates
    sizes = program.launch.global_size
    limits = {a.name: a.limits[1] for a in program.arguments if a.limits is not None}
    count = size_value(sizes[0], limits) if sizes else 1
    return max(work.flops / FLOPS_PER_NS, work.bytes / BYTES_PER_NS) / max(1, count)


def open_device(threads: int | None = None) -> HostDevice:
    """The host's CPU. `threads` is at most how many cores a kernel uses, by default all we may."""
    host = find_host()
    count = threads or len(os.sched_getaffinity(0))
    jit = llvm.create_lljit_compiler(host.machine(), suppress_errors=True)  # they are raised
    return HostDevice(host, Compiler(host), jit, Pool(count))
