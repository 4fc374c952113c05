"""The table behind `intern`: strong references, swept of what nobody else holds.

A weak reference for each node would cost as much as the rest of making it. So the table holds its
values, and once it has doubled since the last time it drops those that only it refers to: CPython
counts references. Readers and writers take no lock. `enter` explains why no value is lost.
"""

from collections.abc import Hashable
from sys import getrefcount
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

Key: TypeAlias = Hashable
FEWEST = 1 << 15  # entries before the first sweep: 16 MB; what is used is looked at once more
_T = TypeVar("_T")


def _count_alone() -> int:
    """What getrefcount says, in a loop like that of `sweep`, of a value that only a dict holds."""
    table: dict[int, object] = {0: object()}
    entries = table.copy()
    _, value = entries.popitem()
    return getrefcount(value)


_ALONE = _count_alone()


class Table(Generic[_T]):
    """One value for each key, for as long as somebody uses it."""

    __slots__ = ("_sweeping", "current", "limit", "older")

    def __init__(self) -> None:
        self.current: dict[Key, _T] = {}  # replaced, never emptied: see `enter`
        self.older: dict[Key, _T] = {}  # what is being swept
        self.limit = FEWEST  # entries in `current` before the next sweep; 0 during one
        self._sweeping = Lock()

    def enter(self, key: Key, value: _T) -> _T:
        """The value under `key` from now on: `value`, or the one that is there already.

        A value found in a table is only good if that is still `current` afterwards. If not, a sweep
        may have taken it for unused: it is entered again. The sweep looks at every value of the old
        table after it was replaced, and until it is done misses look there, too.
        """
        while True:
            table = self.current
            if self.older:
                value = self.older.get(key, value)
            value = table.setdefault(key, value)
            if table is self.current:
                break
        if not self.older and len(table) >= self.limit:
            self.sweep()
        return value

    def sweep(self) -> None:
        """Drop every value that only the table holds, the youngest first: users before sources."""
        if not self._sweeping.acquire(blocking=False):
            return  # another thread is at it
        self.older = older = self.current  # before it is replaced: a miss must find it
        self.limit = 0  # from now on everybody enters
        self.current = {}
        entries = older.copy()  # atomic: a late thread may still enter some
        try:
            while entries:
                key, value = entries.popitem()  # no list of pairs for the collector to look at
                if getrefcount(value) <= _ALONE:
                    del older[key]
        finally:  # also where a signal interrupts it
            for key, value in older.copy().items():
                self.current.setdefault(key, value)
            self.limit = max(FEWEST, 2 * len(self.current))
            self.older = {}
            self._sweeping.release()
