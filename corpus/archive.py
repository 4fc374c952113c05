"""A corpus as one file: entries in order of their keys, then a manifest, each under a checksum.

    archive   = magic entry* manifest
    entry     = "R" key(32 bytes) length(4 bytes, big-endian) value
    manifest  = "E" length(4 bytes) msgpack(records, lost, sha256 of all before "E") checksum(8)

It is written front to back without going back, and read so too. Values are those of the store, byte
for byte. An archive that ends early, or goes on wrongly, yields what is whole and then says so.
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
from corpus.encoding import MAX_VALUE_BYTES
from corpus.record import RawItem, Unreadable

MAGIC = b"KRARCH1\n"
_ENTRY = struct.Struct(">c32sI")
_LENGTH = struct.Struct(">cI")
_MAX_MANIFEST_BYTES = 4096
_HASH_BLOCK_BYTES = 1 << 20


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
        put(_ENTRY.pack(b"R", bytes.fromhex(key), len(value)) + value)
        records += 1
    manifest = msgspec.msgpack.encode(_Manifest(records, lost, digest.hexdigest()))
    file.write(_LENGTH.pack(b"E", len(manifest)) + manifest + _checksum(manifest))
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
        self._places: dict[str, tuple[int, int]] = {}
        self._manifest: _Manifest | None = None
        self._manifest_at = 0
        self._broken = self._scan()
        self.lost = self._manifest.lost if self._manifest else 0

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def count(self) -> int:
        return len(self._places) + (self._broken is not None)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in self._places if key.startswith(prefix))

    def values(self, prefix: str) -> Iterator[RawItem]:
        for key in self.keys(prefix):
            yield self._read(key)
        if self._broken is not None:
            yield Unreadable("", self._broken)

    def value(self, key: str) -> RawItem | None:
        return self._read(key) if key in self._places else None

    def why_damaged(self) -> tuple[str, ...]:
        """Compare the whole file with its manifest."""
        if self._broken is not None or self._manifest is None:
            return (self._broken or "no manifest",)
        digest, at = hashlib.sha256(), 0
        while at < self._manifest_at:
            block = self._bytes(at, min(_HASH_BLOCK_BYTES, self._manifest_at - at))
            if not block:
                return (f"ends at byte {at} of {self._manifest_at}",)
            digest.update(block)
            at += len(block)
        if digest.hexdigest() != self._manifest.sha256:
            return ("its bytes are not those its manifest was made for",)
        return ()

    def _read(self, key: str) -> RawItem:
        at, length = self._places[key]
        value = self._bytes(at, length)
        if len(value) != length:
            return Unreadable(key, f"ends after {len(value)} of {length} bytes")
        return key, value

    def _bytes(self, at: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, at)

    def _scan(self) -> str | None:
        """Find every entry; say what is wrong with the file where one is not as it must be."""
        at, last = len(MAGIC), ""
        while True:
            head = self._bytes(at, _ENTRY.size)
            if head[:1] == b"E":
                return self._scan_manifest(at)
            if len(head) < _ENTRY.size or head[:1] != b"R":
                return f"archive is broken at byte {at}, after {len(self._places)} records"
            _, raw_key, length = _ENTRY.unpack(head)
            key = raw_key.hex()
            at += _ENTRY.size
            if length > MAX_VALUE_BYTES or at + length > self._size:
                return f"archive is broken at byte {at}: record {key[:12]} of {length} bytes"
            if key <= last:
                return f"archive is broken at byte {at}: record {key[:12]} is out of order"
            self._places[key] = (at, length)
            at, last = at + length, key

    def _scan_manifest(self, at: int) -> str | None:
        _, length = _LENGTH.unpack_from(self._bytes(at, _LENGTH.size).ljust(_LENGTH.size, b"\xff"))
        if length > _MAX_MANIFEST_BYTES:
            return f"archive is broken at byte {at}: a manifest of {length} bytes"
        tail = self._bytes(at + _LENGTH.size, length + 9)
        data, checksum = tail[:length], tail[length:]
        if checksum != _checksum(data):
            return f"archive is broken at byte {at}: its manifest is not whole"
        try:
            manifest = msgspec.msgpack.decode(data, type=_Manifest)
        except msgspec.MsgspecError as error:
            return f"archive is broken at byte {at}: its manifest is none: {error}"
        self._manifest, self._manifest_at = manifest, at
        if manifest.records != len(self._places):
            return f"archive holds {len(self._places)} records, its manifest {manifest.records}"
        return None


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:8]
