"""Host memory that is used again: memory that was touched before costs no page faults.

Arrays lean on a lease. When the last array over it is gone, its memory is kept for the next one.
"""

import ctypes
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64  # a cache line, and the widest vector
LEAST_KEPT = 1 << 16  # bytes; below, the allocator of C does as well
MOST_KEPT = 1 << 28  # bytes that wait to be used again, of all sizes together
_GRAIN = 1 << 16  # sizes are rounded up, so that similar ones share


class _Kept:
    """Memory that nobody uses. One for the process; any thread may take and give."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[npt.NDArray[np.uint8]]] = {}
        self.total = 0
        self.lock = threading.Lock()

    def take(self, size: int) -> npt.NDArray[np.uint8] | None:
        with self.lock:
            blocks = self.blocks.get(size)
            if not blocks:
                return None
            self.total -= size
            return blocks.pop()

    def give(self, block: npt.NDArray[np.uint8]) -> None:
        """Keep `block`, unless there is enough. Never waits: a finalizer may run anywhere."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            if self.total + block.size <= MOST_KEPT:
                self.total += block.size
                self.blocks.setdefault(block.size, []).append(block)
        finally:
            self.lock.release()


_kept = _Kept()


class _Lease:
    """What arrays over a block lean on; NumPy keeps it as long as one of them is alive."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: npt.NDArray[np.uint8], address: int, dtype: str, size: int) -> None:
        self.block = block
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),  # not read-only
            "typestr": dtype,
            "shape": (size,),
        }

    def __del__(self, give: Any = _kept.give) -> None:  # noqa: ANN401  # bound early: modules go first at exit
        give(self.block)


def empty(dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    """`size` undefined elements, aligned. Raises MemoryError or ValueError as np.empty does."""
    needed = size * dtype.itemsize + ALIGNMENT
    if needed < LEAST_KEPT:
        block = np.empty(needed, np.uint8)
        return np.ndarray((size,), dtype, block, -_address(block) % ALIGNMENT)
    capacity = -(-needed // _GRAIN) * _GRAIN
    known = _kept.take(capacity)
    kept = np.empty(capacity, np.uint8) if known is None else known
    start = _address(kept)
    return np.asarray(_Lease(kept, start + -start % ALIGNMENT, dtype.str, size))


def copied(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The elements row by row in memory of their own, flat."""
    found = empty(array.dtype, array.size)
    found.reshape(array.shape)[...] = array
    return found


def is_whole(array: npt.NDArray[Any]) -> bool:
    """Whether this is all of a block of ours: only what was made of `array` sees it as well."""
    return isinstance(array.base, _Lease)


def _address(block: npt.NDArray[np.uint8]) -> int:
    whole = ctypes.c_char.from_buffer(block)  # type: ignore[arg-type]  # an array is a buffer
    return ctypes.addressof(whole)  # faster than block.ctypes.data
