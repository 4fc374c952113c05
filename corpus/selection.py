"""Choosing records: by the first digits of a key as in git, by GLOB, by target, by test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice

from corpus.errors import SelectionError
from corpus.reader import Reader
from corpus.record import Item, KernelRecord, Status, Stored, Unreadable

SHORT_KEY = 12
"""Digits of a key that are shown; enough to be unique among millions."""

_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """What to choose. Every field that is given must agree; an empty one agrees with everything.

    `only`, `test` and `revision` are GLOBs, or exact names; `target` is one over "backend/profile",
    or just a backend. `keys` are prefixes that must each name one record.
    """

    keys: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    target: str | None = None
    test: str | None = None
    status: Status | None = None
    revision: str | None = None
    limit: int | None = None

    def has(self, record: KernelRecord) -> bool:
        """Say whether `record` agrees with every field but `keys` and `limit`."""
        target = record.target
        return (
            _agrees(self.only, record.name or "")
            and (
                _agrees(self.target, target.backend)
                or _agrees(self.target, f"{target.backend}/{target.profile}")
            )
            and _agrees(self.test, record.provenance.test_id or "")
            and _agrees(self.revision, record.provenance.revision or "")
            and self.status in (None, record.status)
        )


def select(reader: Reader, selection: Selection) -> Iterator[Item]:
    """Yield what is chosen, in order of keys. Unreadable records, which could be any, come too."""
    if selection.keys:
        keys = sorted({resolve_key(reader, prefix) for prefix in selection.keys})
        items: Iterator[Item] = (item for key in keys if (item := reader.read(key)) is not None)
    else:
        items = iter(reader)
    chosen = (item for item in items if isinstance(item, Unreadable) or selection.has(item.record))
    return islice(chosen, selection.limit)


def resolve_key(reader: Reader, prefix: str) -> str:
    """Give the one key that begins with `prefix`. Raises SelectionError on none and on several."""
    prefix = prefix.lower()
    if not prefix:
        raise SelectionError("key '': empty; give its first digits, as `replay list` prints them")
    keys = list(islice(reader.keys(prefix), _CANDIDATES + 1))
    if prefix in keys:
        return prefix
    if not keys:
        raise SelectionError(
            f"key {prefix[:80]!r}: no record in {reader.path} begins so; see `replay list`"
        )
    if len(keys) > 1:
        shown = ", ".join(_described(reader, key) for key in keys[:_CANDIDATES])
        more = ", ..." if len(keys) > _CANDIDATES else ""
        raise SelectionError(f"key {prefix!r}: ambiguous, give more digits: {shown}{more}")
    return keys[0]


def _agrees(pattern: str | tuple[str, ...] | None, text: str) -> bool:
    """Match one pattern of several; brackets of a test's parameters need no escape."""
    if not pattern:
        return True
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    return any(text == one or fnmatchcase(text, one) for one in patterns)


def _described(reader: Reader, key: str) -> str:
    item = reader.read(key)
    name = item.record.name if isinstance(item, Stored) else "unreadable"
    return f"{key[:SHORT_KEY]} ({name})" if name else key[:SHORT_KEY]
