"""Kernels kept as records: bytes and fields, with no idea of what a kernel means.

Write with `open_writer(path)`, read with `open_reader(path)`. A `KernelRecord` is named by the
`key_of` its question. Readers yield `Stored(key, record)` or `Unreadable(key, reason)`, in order of
keys, and skip nothing. Every failure is a `CorpusError` of one line.
"""

from corpus.encoding import decode_record, encode_record
from corpus.errors import (
    ChangedCorpusError,
    CorpusError,
    DamagedCorpusError,
    EmptyCorpusError,
    ForeignCorpusError,
    FullDiskError,
    InaccessibleCorpusError,
    InvalidRecordError,
    LockedCorpusError,
    MissingCorpusError,
    PathError,
    ReadOnlyCorpusError,
    SelectionError,
    UnreadableError,
)
from corpus.key import is_key, key_of, key_of_question
from corpus.reader import Reader, open_reader
from corpus.record import (
    SCHEMA,
    Argument,
    ArgumentKind,
    Estimates,
    Item,
    KernelRecord,
    Launch,
    Opt,
    Provenance,
    Scalar,
    Size,
    Status,
    Stored,
    Target,
    Unreadable,
)
from corpus.store import Added, Writer, open_writer

__all__ = [
    "SCHEMA",
    "Added",
    "Argument",
    "ArgumentKind",
    "ChangedCorpusError",
    "CorpusError",
    "DamagedCorpusError",
    "EmptyCorpusError",
    "Estimates",
    "ForeignCorpusError",
    "FullDiskError",
    "InaccessibleCorpusError",
    "InvalidRecordError",
    "Item",
    "KernelRecord",
    "Launch",
    "LockedCorpusError",
    "MissingCorpusError",
    "Opt",
    "PathError",
    "Provenance",
    "ReadOnlyCorpusError",
    "Reader",
    "Scalar",
    "SelectionError",
    "Size",
    "Status",
    "Stored",
    "Target",
    "Unreadable",
    "UnreadableError",
    "Writer",
    "decode_record",
    "encode_record",
    "is_key",
    "key_of",
    "key_of_question",
    "open_reader",
    "open_writer",
]
