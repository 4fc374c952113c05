"""One record out of a corpus, and the opts that a replay of it asks for."""

from pathlib import Path

from corpus import KernelRecord, Opt, Unreadable, open_reader, resolve_key
from replay.errors import ReplayError


def read_record(corpus: Path, key: str) -> tuple[str, KernelRecord]:
    """The whole key and the record that `key` shortens. ReplayError if its bytes are not whole."""
    with open_reader(corpus) as reader:
        whole = resolve_key(reader, key)
        item = reader.read(whole)
    if item is None or isinstance(item, Unreadable):
        reason = item.reason if item else "gone"
        raise ReplayError(f"record {whole}: unreadable: {reason}; see `replay corpus check`")
    return whole, item.record


def replayed_opts(record: KernelRecord, *, is_free: bool = False) -> tuple[Opt, ...] | None:
    """What was applied; what was requested where the compiler is free, or never got so far."""
    return record.requested if is_free or record.applied is None else record.applied
