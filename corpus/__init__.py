"""Kernels kept as records: bytes and fields, with no idea of what a kernel means.

Write with `open_writer(path)`, read with `open_reader(path)`: directory, archive or text form.
A `KernelRecord` is named by the `key_of` its question. Readers yield `Stored(key, record)` or
`Unreadable(key, reason)`, in order of keys, and skip nothing. Every failure is a `CorpusError` of
one line. `select`, `export_corpus`, `merge_corpus`, `stat_corpus`, `check_corpus`, `repair_corpus`
and `prune_corpus` are functions over these that return frozen values.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corpus.baseline import Added, Side, differing_fields
    from corpus.directory import refuse_store
    from corpus.encoding import decode_record, digest_of_body, encode_record
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
    from corpus.maintain import (
        Check,
        Pruned,
        Repaired,
        Stat,
        check_corpus,
        forget_lost,
        prune_corpus,
        repair_corpus,
        stat_corpus,
    )
    from corpus.place import name_of, url_of
    from corpus.reader import Reader, decode_item, open_reader
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
        RawItem,
        Scalar,
        Size,
        Status,
        Stored,
        Target,
        Unreadable,
    )
    from corpus.selection import SHORT_KEY, Selection, resolve_key, select
    from corpus.transfer import (
        Change,
        Conflict,
        Exported,
        Form,
        Merged,
        export_corpus,
        merge_corpus,
    )
    from corpus.writer import Writer, open_writer

# A name is imported when it is first asked for: a captured program and the command that captures it
# need the writer alone, and pay for nothing else.
_MODULES = {
    "baseline": "Added Side differing_fields",
    "directory": "refuse_store",
    "encoding": "decode_record digest_of_body encode_record",
    "errors": (
        "ChangedCorpusError CorpusError DamagedCorpusError EmptyCorpusError "
        "ForeignCorpusError FullDiskError InaccessibleCorpusError InvalidRecordError "
        "LockedCorpusError MissingCorpusError PathError ReadOnlyCorpusError "
        "SelectionError UnreadableError"
    ),
    "key": "is_key key_of key_of_question",
    "maintain": (
        "Check Pruned Repaired Stat check_corpus forget_lost prune_corpus repair_corpus stat_corpus"
    ),
    "place": "name_of url_of",
    "reader": "Reader decode_item open_reader",
    "record": (
        "Argument ArgumentKind Estimates Item KernelRecord Launch Opt Provenance RawItem "
        "SCHEMA Scalar Size Status Stored Target Unreadable"
    ),
    "selection": "SHORT_KEY Selection resolve_key select",
    "transfer": "Change Conflict Exported Form Merged export_corpus merge_corpus",
    "writer": "Writer open_writer",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'corpus' has no attribute {name!r}")
    return getattr(import_module(f"corpus.{_HOMES[name]}"), name)


__all__ = [
    "SCHEMA",
    "SHORT_KEY",
    "Added",
    "Argument",
    "ArgumentKind",
    "Change",
    "ChangedCorpusError",
    "Check",
    "Conflict",
    "CorpusError",
    "DamagedCorpusError",
    "EmptyCorpusError",
    "Estimates",
    "Exported",
    "ForeignCorpusError",
    "Form",
    "FullDiskError",
    "InaccessibleCorpusError",
    "InvalidRecordError",
    "Item",
    "KernelRecord",
    "Launch",
    "LockedCorpusError",
    "Merged",
    "MissingCorpusError",
    "Opt",
    "PathError",
    "Provenance",
    "Pruned",
    "RawItem",
    "ReadOnlyCorpusError",
    "Reader",
    "Repaired",
    "Scalar",
    "Selection",
    "SelectionError",
    "Side",
    "Size",
    "Stat",
    "Status",
    "Stored",
    "Target",
    "Unreadable",
    "UnreadableError",
    "Writer",
    "check_corpus",
    "decode_item",
    "decode_record",
    "differing_fields",
    "digest_of_body",
    "encode_record",
    "export_corpus",
    "forget_lost",
    "is_key",
    "key_of",
    "key_of_question",
    "merge_corpus",
    "name_of",
    "open_reader",
    "open_writer",
    "prune_corpus",
    "refuse_store",
    "repair_corpus",
    "resolve_key",
    "select",
    "stat_corpus",
    "url_of",
]
