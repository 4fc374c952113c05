"""Between a record and its stored value: msgpack, zstd, and a header that binds it to its key.

A value is "KR", a format byte, the occurrence count, the first 8 bytes of its key, a checksum over
all the rest and the whole key, and the body. It is checked before it is unpacked: a value under
another record's key is as unreadable as one with a flipped bit, and both say which they are.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, get_args

import msgspec

from corpus.compress import compress, decompress
from corpus.errors import InvalidRecordError, UnreadableError
from corpus.key import is_key, key_of, why_not_scalar
from corpus.migrate import to_current
from corpus.record import SCHEMA, KernelRecord, Scalar

MAX_VALUE_BYTES = 16 << 20
MAX_PAYLOAD_BYTES = 64 << 20
MAX_OCCURRENCES = 2**32 - 1

_HEADER = struct.Struct(">2sBI8s8s")
_MAGIC = b"KR"
_ZSTD = 1
VALUE_MAGIC = _MAGIC + bytes([_ZSTD])
KEY_HALF = slice(7, 15)
"""Where a value holds the first 8 bytes of its key."""

_DIGEST_BYTES = 16

_SCHEMA_FIRST = b"\xa6schema"

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(KernelRecord).decode


class Value(NamedTuple):
    """What a stored value says once its header and checksum are found right."""

    occurrences: int
    body: bytes


def encode_record(record: KernelRecord) -> tuple[str, bytes]:
    """Turn a record into its key and its value. The same record gives the same bytes anywhere."""
    key = key_of(record)
    body = compress(encode_payload(record))
    if len(body) > MAX_VALUE_BYTES:
        raise InvalidRecordError(
            f"record {key[:12]}: {len(body)} bytes compressed, {MAX_VALUE_BYTES} are allowed"
        )
    return key, seal(key, Value(record.provenance.occurrences, body))


def decode_record(key: str, value: bytes) -> KernelRecord:
    """Turn a value back into the record it was. Raises UnreadableError if one bit changed."""
    occurrences, body = unseal(key, value)
    record = decode_payload(decompress(body, MAX_PAYLOAD_BYTES))
    if key_of(record) != key:
        raise UnreadableError(f"answers another question, {key_of(record)[:12]}")
    if occurrences == 1:
        return record
    provenance = msgspec.structs.replace(record.provenance, occurrences=occurrences)
    return msgspec.structs.replace(record, provenance=provenance)


def seal(key: str, value: Value) -> bytes:
    """Put the header before a body."""
    occurrences, body = value
    if not 0 <= occurrences <= MAX_OCCURRENCES:
        raise InvalidRecordError(f"record {key[:12]}: {occurrences} occurrences do not fit 32 bits")
    half, checksum = _bindings(key, occurrences, body)
    return _HEADER.pack(_MAGIC, _ZSTD, occurrences, half, checksum) + body


def unseal(key: str, value: bytes) -> Value:
    """Check a value's header and checksum, and take it apart."""
    if not is_key(key):
        raise UnreadableError(f"key {key[:80]!r}: not 64 hex digits")
    if len(value) < _HEADER.size or value[:2] != _MAGIC:
        raise UnreadableError(f"value of {len(value)} bytes: not a record's header")
    _, form, occurrences, half, checksum = _HEADER.unpack_from(value)
    body = value[_HEADER.size :]
    expected_half, expected_checksum = _bindings(key, occurrences, body, form=form)
    if checksum == expected_checksum and half == expected_half:
        if form != _ZSTD:
            raise UnreadableError(f"format {form}: newer than {_ZSTD}, the newest known here")
        return Value(occurrences, body)
    if half != expected_half:
        raise UnreadableError(f"holds the value of another record, {half.hex()}")
    raise UnreadableError(f"checksum is {checksum.hex()}, its bytes give {expected_checksum.hex()}")


def digest_of_body(key: str, value: bytes) -> bytes:
    """Name all that a value says but how often it was asked, once its checksum is found right."""
    return hashlib.sha256(unseal(key, value).body).digest()[:_DIGEST_BYTES]


def true_key(value: bytes) -> str | None:
    """Find the key that a whole value was made for, whatever key it is found under."""
    try:
        key = key_of(decode_payload(decompress(value[_HEADER.size :], MAX_PAYLOAD_BYTES)))
        unseal(key, value)
    except (UnreadableError, InvalidRecordError):
        return None
    return key


def encode_payload(record: KernelRecord) -> bytes:
    """Encode the fields, in fixed order, without the occurrence count, which the header holds."""
    _refuse_bad_scalars(record)
    if record.schema != SCHEMA:
        raise InvalidRecordError(f"record: schema {record.schema}, {SCHEMA} is written here")
    if record.provenance.occurrences != 1:
        once = msgspec.structs.replace(record.provenance, occurrences=1)
        record = msgspec.structs.replace(record, provenance=once)
    try:
        payload = _encode_with_extra(record)
        decode_payload(payload)  # fields of wrong types must fail here, not when they are read
    except (UnreadableError, TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise InvalidRecordError(f"record: {error}; see corpus/record.py for its fields") from None
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise InvalidRecordError(f"record: {len(payload)} bytes, {MAX_PAYLOAD_BYTES} are allowed")
    return payload


def decode_payload(payload: bytes) -> KernelRecord:
    """Decode fields of any schema so far. What this version does not know ends up in `extra`."""
    try:
        return _decode_current(payload)
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableError(f"payload: {error}") from None
    try:
        return _decode_any(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableError(f"payload: {error}") from None


def _bindings(key: str, occurrences: int, body: bytes, *, form: int = _ZSTD) -> tuple[bytes, bytes]:
    whole = bytes.fromhex(key)
    prefix = _HEADER.pack(_MAGIC, form, occurrences, whole[:8], bytes(8))
    return whole[:8], hashlib.sha256(whole + prefix + body).digest()[:8]


def _decode_current(payload: bytes) -> KernelRecord:
    record = _decode(payload)
    is_marked = payload[3:10] == _SCHEMA_FIRST  # else a lost field would read as its default
    if not is_marked or record.schema != SCHEMA or record.extra is not msgspec.UNSET:
        raise msgspec.ValidationError("not a plain record of the current schema")
    return record


def _decode_any(payload: bytes) -> KernelRecord:
    fields = msgspec.msgpack.decode(payload, type=dict[str, object])
    if "extra" in fields:
        raise UnreadableError("field extra: reserved, no record holds it")
    extra: dict[str, bytes] = {}
    known = _split(dict(to_current(fields)), KernelRecord, "", extra)
    record = msgspec.convert(known, KernelRecord)
    return msgspec.structs.replace(record, extra=extra) if extra else record


def _split(value: object, kind: object, path: str, extra: dict[str, bytes]) -> object:
    """Move what `kind` does not know from `value` to `extra`."""
    known = _struct_in(kind)
    if known is None:
        return value
    if isinstance(value, list):
        return [_split(item, known, f"{path}{i}/", extra) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kinds = _kinds(known)
    kept = {}
    for name, item in value.items():
        if name in kinds:
            kept[name] = _split(item, kinds[name], f"{path}{name}/", extra)
        elif not isinstance(name, str) or "/" in name:
            raise UnreadableError(f"field {name!r}: no field has such a name")
        else:
            extra[path + name] = _encode(item)
    return kept


@cache
def _kinds(struct: type[msgspec.Struct]) -> Mapping[str, object]:
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


@cache
def _struct_in(kind: object) -> type[msgspec.Struct] | None:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((found for arg in get_args(kind) if (found := _struct_in(arg))), None)


def _encode_with_extra(record: KernelRecord) -> bytes:
    """Encode a record with the fields it came with and that are not known here, back in place."""
    if isinstance(record.extra, msgspec.UnsetType):
        return _encode(record)
    extra = record.extra
    fields = msgspec.msgpack.decode(
        _encode(msgspec.structs.replace(record, extra=msgspec.UNSET)), type=dict[str, object]
    )
    for path in sorted(extra):
        *way, name = path.split("/")
        place: object = fields
        for step in way:
            place = place[int(step)] if isinstance(place, list) else _child(place, step, path)
        if not isinstance(place, dict) or name in place or path == "extra":
            raise InvalidRecordError(f"record: extra field {path}: its place is taken or gone")
        place[name] = msgspec.Raw(extra[path])
    return _encode(fields)


def _child(place: object, step: str, path: str) -> object:
    if not isinstance(place, dict) or step not in place:
        raise InvalidRecordError(f"record: extra field {path}: its place is gone")
    return place[step]


def _refuse_bad_scalars(record: KernelRecord) -> None:
    groups: tuple[Mapping[str, Scalar], ...] = (
        record.options,
        record.target.capabilities,
        record.numerics or {},
        *(opt.fields for opt in (*(record.requested or ()), *(record.applied or ()))),
    )
    for group in groups:
        for name, value in group.items():
            if (why := why_not_scalar(value)) is not None:
                raise InvalidRecordError(f"record: {name}: {why}; store it as text")
