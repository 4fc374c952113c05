"""From lazy values to memory: split, compile, run.

Compiles and builds are kept by content, so a kernel that was seen before costs a dictionary lookup.
A kernel that fails leaves its value not computed: asking again runs into the same error again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from compiler.backends import Executable, open_device
from compiler.compile import compile_kernel
from compiler.frontend import dtypes
from compiler.frontend.graph import Kind, Value
from compiler.frontend.launches import note_launch
from compiler.frontend.recording import note, refuse_reading
from compiler.frontend.schedule import Built, split
from compiler.frontend.storage import Array, Storage, as_source, remember, storage_of
from compiler.ir import Node
from compiler.kernel import Opt
from compiler.observe import CompileReused, is_observed, notify
from compiler.options import DEFAULT, CompileOptions
from compiler.target import Target

ChooseOpts = Callable[[Node, Target], tuple[Opt, ...] | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How kernels of tensors are compiled. `choose` gives the requested opts; None of it: free."""

    options: CompileOptions = DEFAULT
    choose: ChooseOpts | None = None


_DEFAULT = Settings()
_settings: ContextVar[Settings] = ContextVar("settings")  # set by `compiling`


@contextmanager
def compiling(
    options: CompileOptions = DEFAULT, choose: ChooseOpts | None = None
) -> Iterator[None]:
    """Compile what is realized inside the block with these options and requested opts."""
    token = _settings.set(Settings(options, choose))
    try:
        yield
    finally:
        _settings.reset(token)


def realize(values: Sequence[Value]) -> tuple[Value, ...]:
    """The same values in memory, without the graphs that led to them."""
    wanted = [_below_reshapes(value) for value in values]
    missing = [value for value in wanted if value.size and storage_of(value) is None]
    for built in split(missing, storage_of) if missing else ():
        _run(built)
    return tuple([_in_memory(value, base) for value, base in zip(values, wanted, strict=True)])


def to_numpy(value: Value) -> Array:
    """A new array of the value's elements, computed if they are not yet."""
    refuse_reading(f"tensor of shape {value.shape}")
    (computed,) = realize([value])
    storage = storage_of(computed)
    assert storage is not None
    return storage.on_host().reshape(value.shape)


def _below_reshapes(value: Value) -> Value:
    while value.kind is Kind.RESHAPE and storage_of(value) is None:
        value = value.src[0]
    return value


def _in_memory(value: Value, base: Value) -> Value:
    storage = storage_of(base)
    if storage is None:  # no elements
        storage = Storage(value.device, value.dtype, 0, np.zeros(0, dtypes.to_numpy(value.dtype)))
    return as_source(value, storage)


def _run(built: Built) -> None:
    root = built.buffers[0]
    executable = _executable(built.ast, root.device)
    inputs = tuple([_memory(value) for value in built.buffers[1:]])
    buffer = open_device(root.device).allocate(root.dtype, root.size)
    executable([buffer, *[storage.on_device() for storage in inputs]], {})
    output = Storage(root.device, root.dtype, root.size, buffer=buffer)
    note(executable, output, inputs)
    note_launch()
    remember(root, output)


def _memory(value: Value) -> Storage:
    storage = storage_of(value)
    assert storage is not None, "split orders kernels after those they read"
    return storage


MAX_BUILDS = 4096
_builds: OrderedDict[tuple[object, ...], Executable] = OrderedDict()  # owned by `_executable`
_lock = threading.Lock()


def _executable(ast: Node, device_name: str) -> Executable:
    device = open_device(device_name)
    settings = _settings.get(_DEFAULT)
    opts = settings.choose(ast, device.target) if settings.choose else None
    key = (ast, device.target, settings.options, opts)
    with _lock:
        known = _builds.get(key)
        if known is not None:
            _builds.move_to_end(key)
    if known is not None:
        if is_observed():
            notify(CompileReused(ast, device.target, settings.options, opts))
        return known
    executable = device.build(compile_kernel(ast, device.target, settings.options, opts).program)
    with _lock:
        _builds[key] = executable
        while len(_builds) > MAX_BUILDS:
            _builds.popitem(last=False)
    return executable
