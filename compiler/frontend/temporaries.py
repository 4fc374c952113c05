"""Tensors that nobody holds: `(a @ b).numpy()` need not copy what is dropped in the same moment.

NumPy does the same for its temporaries. CPython counts references, so a method can see that its
tensor is a temporary. What the counts are without other holders is measured, not assumed; where
they say nothing (other interpreters, a debugger that holds frames) everything is copied.
"""

import sys

import numpy as np

from compiler.frontend.graph import Value
from compiler.frontend.storage import from_array


class _Probe:
    """Counts references to itself where a tensor's method does."""

    def count(self) -> int:
        return sys.getrefcount(self)


def _counts_of_temporaries() -> int | None:
    """The count of a temporary in its method, None where it is that of a kept object as well."""
    if sys.implementation.name != "cpython":
        return None
    kept = _Probe()
    count = _Probe().count()
    return count if kept.count() > count else None


def _holders(value: Value) -> tuple[int, int]:
    return sys.getrefcount(value), sys.getrefcount(value.arg)


TEMPORARY = _counts_of_temporaries()


class _Holder:
    """Holds a value as a tensor does."""

    def __init__(self, value: Value) -> None:
        self.value = value


def is_unshared(holder: object) -> bool:
    """Whether the value in memory at `holder.value`, and its memory, have no other holder."""
    return _holders(holder.value) == _ALONE  # type: ignore[attr-defined]  # tensor or probe


def _counts_of_an_only_holder() -> tuple[int, int]:
    holder = _Holder(from_array(np.zeros(1, np.float32), "reference"))
    return _holders(holder.value)


_ALONE = _counts_of_an_only_holder()
