"""From lazy values to memory: split, compile, run.

Compiles and builds are kept by content, so a kernel that was seen before costs a dictionary lookup.
A kernel that fails leaves its value not computed: asking again runs into the same error again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from compiler.backends import Buffer, Executable, open_device
from compiler.compile import compile_kernel
from compiler.frontend import dtypes
from compiler.frontend.assumptions import is_noted
from compiler.frontend.graph import Kind, Value, assume_countable
from compiler.frontend.images import with_images
from compiler.frontend.launches import note_launch
from compiler.frontend.pinning import SameOpts
from compiler.frontend.recording import note, refuse_reading
from compiler.frontend.schedule import Built, lifetimes, plan, scratch_of
from compiler.frontend.schedule import explain as explain_schedule
from compiler.frontend.storage import Array, Storage, as_source, release, remember, storage_of
from compiler.frontend.symbolic import merged, numbers, plain
from compiler.ir import DType, Node
from compiler.kernel import Opt
from compiler.observe import CompileReused, batch, is_observed, notify
from compiler.options import DEFAULT, CompileOptions
from compiler.target import Target

_Spec: TypeAlias = tuple[str, DType, int]  # device, dtype, elements
ChooseOpts = Callable[[Node, Target], tuple[Opt, ...] | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How kernels of tensors are compiled. `choose` gives the requested opts; None of it: free."""

    options: CompileOptions = DEFAULT
    choose: ChooseOpts | None = None
    search_cache: Path | None = None
    images: bool = False

    @property
    def keeps_rows(self) -> bool:
        """Whether kernels may go along rows: not where other targets are to have the same ones."""
        return not isinstance(self.choose, SameOpts) or self.choose.keeps_rows


_DEFAULT = Settings()
_settings: ContextVar[Settings] = ContextVar("settings")  # set by `compiling`


@contextmanager
def compiling(
    options: CompileOptions = DEFAULT,
    choose: ChooseOpts | None = None,
    *,
    search_cache: str | Path | None = None,
    images: bool = False,
) -> Iterator[None]:
    """Compile what is realized inside the block with these options and requested opts.

    What searches by timings find is kept in the directory `search_cache`, for other processes too.
    With `images`, devices that have images read and write them instead of buffers, where they can.
    """
    cache = None if search_cache is None else Path(search_cache)
    token = _settings.set(Settings(options, choose, cache, images))
    try:
        yield
    finally:
        _settings.reset(token)


def realize(values: Sequence[Value]) -> tuple[Value, ...]:
    """The same values in memory, without the graphs that led to them."""
    wanted = [_below_reshapes(value) for value in values]
    found = {value: storage_of(value) for value in wanted}
    missing = [v for v, storage in found.items() if v.size != 0 and storage is None]
    if is_noted():
        assume_countable(missing, lambda value: storage_of(value) is not None)
    held: dict[Value, Storage] = {}
    if missing and is_observed():
        with batch():
            held = _compute(missing)
    elif missing:
        held = _compute(missing)
    pairs = zip(values, wanted, strict=True)
    return tuple([_in_memory(value, held.get(base) or found[base]) for value, base in pairs])


def explain(values: Sequence[Value]) -> str:
    """The kernels that `realize` would run for these values, and why each is one of its own."""
    wanted = dict.fromkeys([_below_reshapes(value) for value in values])
    return explain_schedule(
        tuple(wanted), storage_of, keeps_rows=_settings.get(_DEFAULT).keeps_rows
    )


def to_numpy(value: Value) -> Array:
    """A new array of the value's elements, computed if they are not yet."""
    refuse_reading(f"tensor of shape {value.shape}")
    (computed,) = realize([value])
    storage = storage_of(computed)
    assert storage is not None
    return storage.on_host().reshape(value.shape)


def take_numpy(value: Value) -> Array:
    """The array of a value in memory that nobody can ask again: without a copy where possible."""
    storage = storage_of(value)
    assert storage is not None
    return storage.surrender().reshape(value.shape)


def _below_reshapes(value: Value) -> Value:
    while value.kind is Kind.RESHAPE and storage_of(value) is None:
        value = value.src[0]
    return value


def _in_memory(value: Value, storage: Storage | None) -> Value:
    if storage is None:  # no elements
        storage = Storage(value.device, value.dtype, 0, np.zeros(0, dtypes.to_numpy(value.dtype)))
    return as_source(value, storage)


def _compute(missing: Sequence[Value]) -> dict[Value, Storage]:
    """Run a schedule: what then holds the values. Scratch serves again once it is free.

    What is in memory is looked up once, as another thread may forget it at any time.
    """
    seen: dict[Value, Storage | None] = {}

    def memory_of(value: Value) -> Storage | None:
        if value not in seen:
            seen[value] = storage_of(value)
        return seen[value]

    kernels = plan(missing, memory_of, keeps_rows=_settings.get(_DEFAULT).keeps_rows)
    held = {value: storage for value, storage in seen.items() if storage is not None}
    seen.clear()
    free: dict[_Spec, list[Buffer]] = {}
    variables = numbers(merged([value.bindings for value in missing]))
    for built, over in zip(kernels, _free_after(kernels, missing), strict=True):
        _run(built, held, free, variables)
        for value in over:
            buffer = release(value, held)
            if buffer is not None:
                free.setdefault(_spec(value), []).append(buffer)
    return held


def _free_after(
    kernels: Sequence[Built], missing: Sequence[Value]
) -> tuple[tuple[Value, ...], ...]:
    """The values whose memory is free after each kernel. One kernel alone leaves nothing over."""
    if len(kernels) == 1:
        return ((),)
    return lifetimes(kernels, scratch_of(kernels, missing)).free_after


def _run(
    built: Built,
    held: dict[Value, Storage],
    free: Mapping[_Spec, list[Buffer]],
    variables: Mapping[str, int],
) -> None:
    name = built.buffers[0].device
    executable = _executable(built.ast, name)
    inputs = tuple([held[value] for value in built.read])
    buffers = [_allocate(value, free) for value in built.made]
    executable([*buffers, *[storage.on_device() for storage in inputs]], variables)
    pairs = zip(built.made, buffers, strict=True)
    outputs = tuple([Storage(name, v.dtype, plain(v.size), buffer=buffer) for v, buffer in pairs])
    note(executable, outputs, inputs, built.buffers, variables)
    note_launch()
    for value, storage in zip(built.made, outputs, strict=True):
        held[value] = storage
        remember(value, storage)


def _spec(value: Value) -> _Spec:
    return value.device, value.dtype, plain(value.size)


def _allocate(value: Value, free: Mapping[_Spec, list[Buffer]]) -> Buffer:
    reusable = free.get(_spec(value))
    if reusable:
        return reusable.pop()
    return open_device(value.device).allocate(value.dtype, plain(value.size))


MAX_BUILDS = 4096
_builds: OrderedDict[tuple[object, ...], Executable] = OrderedDict()  # owned by `_executable`
_lock = threading.Lock()


def _executable(ast: Node, device_name: str) -> Executable:
    device = open_device(device_name)
    settings = _settings.get(_DEFAULT)
    ast, target = with_images(ast, device) if settings.images else (ast, device.target)
    opts = settings.choose(ast, target) if settings.choose else None
    key = (ast, device_name, None if settings is _DEFAULT else settings.options, opts)
    with _lock:
        known = _builds.get(key)
        if known is not None:
            _builds.move_to_end(key)
    if known is not None:
        if is_observed():
            notify(CompileReused(ast, target, settings.options, opts))
        return known
    compiled = compile_kernel(
        ast, target, settings.options, opts, search_cache=settings.search_cache
    )
    executable = device.build(compiled.program)
    with _lock:
        _builds[key] = executable
        while len(_builds) > MAX_BUILDS:
            _builds.popitem(last=False)
    return executable
