"""A corpus as one file: entries in order of their keys, then a manifest, each under a checksum.

    archive   = magic entry* manifest
    entry     = "R" key(32 bytes) length(4 bytes, big-endian) value
    manifest  = "E" length(4 bytes) msgpack(records, lost, sha256 of all before "E") checksum(8)

It is written front to back without going back, and read so too. Values are those of the store, byte
for byte. In an archive that is damaged all entries that are whole are found, the others are named.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from corpus.directory import inaccessible
from corpus.encoding import KEY_HALF, MAX_VALUE_BYTES, VALUE_MAGIC, true_key
from corpus.record import RawItem, Unreadable

MAGIC = b"KRARCH1\n"
_ENTRY_TAG = b"R"
_MANIFEST_TAG = b"E"
_ENTRY = struct.Struct(">c32sI")
_LENGTH = struct.Struct(">cI")
_MAX_MANIFEST_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_MAX_BREAKS = 1000  # a hostile file could hold millions, each of which costs a search


class _Manifest(msgspec.Struct, frozen=True):
    records: int
    lost: int
    sha256: str


def write_archive(file: BinaryIO, values: Iterable[tuple[str, bytes]], lost: int) -> int:
    """Write values, which come in order of their keys, and give their number."""
    digest = hashlib.sha256()

    def put(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    put(MAGIC)
    records = 0
    for key, value in values:
        put(_ENTRY.pack(_ENTRY_TAG, bytes.fromhex(key), len(value)) + value)
        records += 1
    manifest = msgspec.msgpack.encode(_Manifest(records, lost, digest.hexdigest()))
    file.write(_LENGTH.pack(_MANIFEST_TAG, len(manifest)) + manifest + _checksum(manifest))
    return records


class Archive:
    """The entries of an archive file; a table of where each one is, its values on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._size = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise inaccessible(path, error) from None
        self._places: dict[str, tuple[int, int] | Unreadable] = {}
        self._breaks: list[Unreadable] = []
        self._break_count = 0
        self._manifest: _Manifest | None = None
        self._manifest_at = 0
        self._scan()
        self._places = dict(sorted(self._places.items()))
        self.lost = self._manifest.lost if self._manifest else 0

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def count(self) -> int:
        return len(self._places) + len(self._breaks)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in self._places if key.startswith(prefix))

    def values(self, prefix: str) -> Iterator[RawItem]:
        for key in self.keys(prefix):
            yield self._read(key)
        yield from self._breaks

    def value(self, key: str) -> RawItem | None:
        return self._read(key) if key in self._places else None

    def at_rest(self) -> Path | None:
        """The file itself: nobody adds to one."""
        return self.path

    def why_damaged(self) -> tuple[str, ...]:
        """Compare the whole file with its manifest."""
        if self._manifest is None:
            return ("it has no whole manifest",)
        digest, at = hashlib.sha256(), 0
        while at < self._manifest_at:
            block = self._bytes(at, min(_BLOCK_BYTES, self._manifest_at - at))
            if not block:
                return (f"ends at byte {at} of {self._manifest_at}",)
            digest.update(block)
            at += len(block)
        if digest.hexdigest() != self._manifest.sha256:
            return ("its bytes are not those its manifest was made for",)
        return ()

    def _read(self, key: str) -> RawItem:
        place = self._places[key]
        return place if isinstance(place, Unreadable) else (key, self._bytes(*place))

    def _bytes(self, at: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, at)

    def _scan(self) -> None:
        """Find every entry and the manifest. After a break, go on where an entry is sure to be."""
        at: int | None = len(MAGIC)
        while at is not None and not self._is_manifest(at) and self._break_count < _MAX_BREAKS:
            at = self._after_entry(at) or self._after_break(at)
        found = len(self._places) + len(self._breaks)
        if self._manifest is None:
            self._breaks.append(Unreadable("", "the archive ends without a whole manifest"))
        elif self._manifest.records > found:
            gone = self._manifest.records - found
            self._breaks.append(Unreadable("", f"{gone} records are missing from the archive"))

    def _after_entry(self, at: int) -> int | None:
        """Note the entry at `at` and give where the next one is; None where there is none."""
        head = self._bytes(at, _ENTRY.size + KEY_HALF.stop)
        if len(head) < _ENTRY.size or head[:1] != _ENTRY_TAG:
            return None
        raw_key: bytes
        length: int
        _, raw_key, length = _ENTRY.unpack_from(head)
        start, end = at + _ENTRY.size, at + _ENTRY.size + length
        if length > MAX_VALUE_BYTES or end > self._size:
            return None
        key = raw_key.hex()
        is_sure = self._bytes(end, 1) in (_ENTRY_TAG, _MANIFEST_TAG)
        if not is_sure and true_key(self._bytes(start, length)) is None:
            return None
        if head[_ENTRY.size :][KEY_HALF] == raw_key[:8] and key not in self._places:
            self._places[key] = (start, length)
        else:
            self._note(true_key(self._bytes(start, length)) or key, f"the archive has it as {key}")
        return end

    def _after_break(self, at: int) -> int | None:
        """Note that no entry is at `at`, and give where the next sure one is: values know keys."""
        self._break_count += 1
        head = self._bytes(at, _ENTRY.size + KEY_HALF.stop)
        raw_key = head[1:33]
        is_named = raw_key[:8] == head[_ENTRY.size :][KEY_HALF] and len(raw_key) == 32
        self._note(raw_key.hex() if is_named else "", f"the archive is broken at byte {at}")
        start = at + 1 + _ENTRY.size
        while block := self._bytes(start, _BLOCK_BYTES):
            found = block.find(VALUE_MAGIC)
            if found < 0:
                start += max(1, len(block) - len(VALUE_MAGIC) + 1)
                continue
            entry = start + found - _ENTRY.size
            head = self._bytes(entry, _ENTRY.size + KEY_HALF.stop)
            if head[:1] == _ENTRY_TAG and head[1:9] == head[_ENTRY.size :][KEY_HALF]:
                return entry
            start += found + 1
        tail_at = max(at, self._size - _MAX_MANIFEST_BYTES)
        tail = self._bytes(tail_at, _MAX_MANIFEST_BYTES)
        tags = (tail_at + i for i, byte in enumerate(tail) if byte == _MANIFEST_TAG[0])
        return next((tag_at for tag_at in tags if self._is_manifest(tag_at)), None)

    def _note(self, key: str, reason: str) -> None:
        if key and key not in self._places:
            self._places[key] = Unreadable(key, reason)
        else:
            self._breaks.append(Unreadable("", reason))

    def _is_manifest(self, at: int) -> bool:
        """Say whether the manifest is at `at`, whole and last in the file, and read it if so."""
        tail = self._bytes(at, _MAX_MANIFEST_BYTES)
        if at + len(tail) != self._size or len(tail) < _LENGTH.size + 8:
            return False
        tag, length = _LENGTH.unpack_from(tail)
        data, checksum = tail[_LENGTH.size : -8], tail[-8:]
        if tag != _MANIFEST_TAG or length != len(data) or checksum != _checksum(data):
            return False
        try:
            self._manifest = msgspec.msgpack.decode(data, type=_Manifest)
        except msgspec.MsgspecError:
            return False
        self._manifest_at = at
        return True


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:8]
