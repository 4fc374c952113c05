"""Memory behind values: an array of the host's until a device needs it, then a device buffer."""

import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

from compiler.backends import Buffer, copied, open_device
from compiler.frontend import graph
from compiler.frontend.dtypes import as_dtype, to_numpy
from compiler.frontend.graph import Kind, Shape, Value
from compiler.ir import DType

Array: TypeAlias = npt.NDArray[Any]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Storage:
    """`size` elements on a device, compared by identity. Filled once, never written again."""

    device: str
    dtype: DType
    size: int
    host: Array | None = None  # given up when it is uploaded
    buffer: Buffer | None = None

    def on_device(self) -> Buffer:
        """The device's buffer; the first call uploads."""
        if self.buffer is None:
            assert self.host is not None
            device = open_device(self.device)
            self.buffer, self.host = device.wrap(self.host, self.dtype), None  # ours: no copy
        return self.buffer

    def on_host(self) -> Array:
        """A new flat array of the elements."""
        if self.buffer is None:
            assert self.host is not None
            return copied(self.host)
        return open_device(self.device).download(self.buffer).view(to_numpy(self.dtype))

    def surrender(self) -> Array:
        """The elements as a flat array, for the last time: it may take the memory with it."""
        if self.buffer is None:
            return self.on_host()
        return open_device(self.device).release(self.buffer).view(to_numpy(self.dtype))


_SAME_ELEMENTS = (Kind.RESHAPE, Kind.CONTIGUOUS)  # as their source, in the same order
_OWN_REFERENCES = 2  # in `release`: its variable, and the argument of getrefcount


def remember(value: Value, storage: Storage) -> None:
    """Note that `storage` holds the elements of `value`: no kernel computes it again."""
    value.storage = storage


def release(value: Value, held: dict[Value, Storage]) -> Buffer | None:
    """Forget what `held` and `remember` have of a value: a kernel would compute it again.

    Its device memory, if nobody else (another thread, say) has got hold of it by now.
    """
    storage = held.pop(value)
    value.storage = None
    return storage.buffer if sys.getrefcount(storage) <= _OWN_REFERENCES else None


def storage_of(value: Value) -> Storage | None:
    """The memory that holds the elements of `value` row by row, if there is any."""
    while value.kind is not Kind.SOURCE:
        if value.storage is not None or value.kind not in _SAME_ELEMENTS:
            return value.storage  # type: ignore[no-any-return]  # only `remember` sets it
        value = value.src[0]
    return value.arg  # type: ignore[no-any-return]  # arg is typed by Kind


def from_array(array: Array, device: str) -> Value:
    """A value with a snapshot of the array's elements."""
    dtype = as_dtype(array.dtype)
    flat = copied(array.astype(to_numpy(dtype), copy=False))
    storage = Storage(device, dtype, flat.size, flat)
    return graph.source(storage, dtype, array.shape, device)


def as_source(value: Value, storage: Storage, shape: Shape | None = None) -> Value:
    """The value whose elements `storage` holds, without the graph that led to it."""
    found = value.shape if shape is None else shape
    return graph.source(storage, value.dtype, found, value.device)
