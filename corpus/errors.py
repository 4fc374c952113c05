"""What can go wrong with a corpus. One line each: subject, fact with values, what would do."""

from __future__ import annotations

from pathlib import Path

from corpus.place import name_of


class CorpusError(Exception):
    """Base of every deliberate failure of this package."""


class InvalidRecordError(CorpusError):
    """A record that cannot be stored as it is: a value of a kind that records do not hold."""


class UnreadableError(CorpusError):
    """Bytes that are not a whole record. Readers turn it into an `Unreadable` value."""


class SelectionError(CorpusError):
    """A key prefix that names no record, or more than one."""


class RemoteError(CorpusError):
    """A remote store that cannot be reached, or that refuses."""


class PathError(CorpusError):
    """A corpus or archive that cannot be used; `path` is the one meant."""

    def __init__(self, path: Path, fact: str) -> None:
        super().__init__(f"corpus {name_of(path)}: {fact}")
        self.path = path
        self.fact = fact

    def __reduce__(self) -> tuple[type[PathError], tuple[Path, str]]:
        return type(self), (self.path, self.fact)


class MissingCorpusError(PathError):
    """Nothing is there."""


class EmptyCorpusError(PathError):
    """A place for a corpus, but not one record in it."""


class ForeignCorpusError(PathError):
    """Something is there that this package did not make."""


class LockedCorpusError(PathError):
    """Another process held the corpus for longer than the caller wanted to wait."""


class ChangedCorpusError(PathError):
    """The corpus was written to while it was being read."""


class ReadOnlyCorpusError(PathError):
    """The file system or its permissions refuse to write."""


class FullDiskError(PathError):
    """There is no room for another record."""


class InaccessibleCorpusError(PathError):
    """The operating system refuses to read or write it, for another reason than those above."""


class DamagedCorpusError(PathError):
    """The container itself, not one record in it, is broken."""
