"""Records turn into bytes and back without losing anything, and bytes that are not whole say so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import zstandard

from corpus import (
    InvalidRecordError,
    Launch,
    Opt,
    Provenance,
    Status,
    Target,
    UnreadableError,
    decode_record,
    encode_record,
    key_of,
)
from corpus.encoding import MAX_PAYLOAD_BYTES, Value, decode_payload, encode_payload, seal
from corpus.migrate import to_current
from corpus.record import SCHEMA

SAMPLES = Path(__file__).parent / "samples"


def _fields(record) -> dict:
    return msgspec.msgpack.decode(encode_payload(record))


def _payload_of(record, change) -> bytes:
    fields = _fields(record)
    change(fields)
    return msgspec.msgpack.encode(fields)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"status": Status.STARTED, "applied": None, "source": None, "name": None, "launch": None},
        {"status": Status.FAILED, "error": "upcast r0: needs an output axis, r0 is REDUCE"},
        {"requested": (), "applied": ()},
        {"requested": (Opt("Local", {"axis": "g0", "amount": 8, "whole": None}),)},
        {"numerics": {"seed": 1, "out0": "0123"}},
        {"ast": "", "source": "\x00\r\n\u2028\U0001f600", "name": "a/b"},
        {"options": {"a": -(2**63), "b": 2**64 - 1, "c": -0.0, "d": 1e300, "e": True, "f": "é"}},
        {"provenance": Provenance(occurrences=3)},
        {"launch": Launch()},
    ],
)
def test_every_record_survives_its_encoding(make_record, changes):
    record = make_record(**changes)
    key, value = encode_record(record)
    assert key == key_of(record)
    assert decode_record(key, value) == record
    assert encode_record(decode_record(key, value)) == (key, value)


def test_equal_records_give_equal_bytes_in_whatever_order_they_were_filled(make_record):
    one = make_record(options={"a": 1, "b": 2}, target=Target("x", "y", {"c": 1, "d": 2}))
    two = make_record(options={"b": 2, "a": 1}, target=Target("x", "y", {"d": 2, "c": 1}))
    assert encode_record(one) == encode_record(two)


@pytest.mark.parametrize(
    "changes",
    [
        {"ast": 5},
        {"name": b"bytes"},
        {"status": "finished?"},
        {"stages": (("one",),)},
        {"launch": Launch((1.5,))},
        {"target": Target("llvm", "x", {"simd": float("nan")})},
        {"applied": (Opt("Upcast", {"amount": float("inf")}),)},
        {"numerics": {"seed": 2**64}},
        {"provenance": Provenance(occurrences=-1)},
        {"provenance": Provenance(occurrences=2**32)},
        {"source": "\udc80"},
        {"schema": 2},
        {"extra": {"ast": b"\xc0"}},
        {"extra": {"nowhere/at/all": b"\xc0"}},
    ],
)
def test_a_record_that_could_not_be_read_is_not_written(make_record, changes):
    with pytest.raises(InvalidRecordError):
        encode_record(make_record(**changes))


def test_unknown_fields_are_kept_where_they_were(make_record):
    def change(fields):
        fields["mood"] = [1, {"deep": None}]
        fields["provenance"]["host"] = "a"
        fields["target"]["extra"] = 1
        fields["arguments"][0]["align"] = 64

    payload = _payload_of(make_record(), change)
    record = decode_payload(payload)
    assert sorted(record.extra) == [
        "arguments/0/align",
        "mood",
        "provenance/host",
        "target/extra",
    ]
    assert record.name == make_record().name
    again = msgspec.msgpack.decode(encode_payload(record))
    assert again == msgspec.msgpack.decode(payload)
    key, value = encode_record(record)
    assert decode_record(key, value) == record


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda fields: fields.update(schema=SCHEMA + 1), "schema 2: newer than 1"),
        (lambda fields: fields.update(schema=0), "not a schema number"),
        (lambda fields: fields.update(schema="1"), "not a schema number"),
        (lambda fields: fields.pop("schema"), "not a schema number"),
        (lambda fields: fields.update(status="vanished"), "Invalid enum value 'vanished'"),
        (lambda fields: fields.update(ast=1), "Expected `str`, got `int`"),
        (lambda fields: fields.pop("ast"), "missing required field `ast`"),
        (lambda fields: fields.update(extra={"a": b"b"}), "reserved"),
        (lambda fields: fields.update({"a/b": 1}), "no field has such a name"),
        (lambda fields: fields["target"].update({"a/b": 1}), "no field has such a name"),
    ],
)
def test_fields_that_make_no_record_are_unreadable_and_say_why(make_record, change, reason):
    with pytest.raises(UnreadableError, match=reason):
        decode_payload(_payload_of(make_record(), change))


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x91" * 100_000,
     b"\x81\xa1a" * 50_000, b"\x81\xa3ast\xa2\xff\xfe", b"\x81\xc0\xc0", b"\x81\x91\x01\x01"],
)  # fmt: skip
def test_a_payload_that_is_no_map_of_fields_is_unreadable(payload):
    with pytest.raises(UnreadableError, match=r"^payload: "):
        decode_payload(payload)


def test_one_flipped_bit_anywhere_is_found(make_record):
    key, value = encode_record(make_record())
    for position in range(len(value)):
        damaged = bytearray(value)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(UnreadableError):
            decode_record(key, bytes(damaged))


def test_a_value_cut_short_anywhere_is_found(make_record):
    key, value = encode_record(make_record())
    for length in range(len(value)):
        with pytest.raises(UnreadableError):
            decode_record(key, value[:length])


def test_the_value_of_another_key_is_named_as_such(make_record):
    key, _ = encode_record(make_record(0))
    other, value = encode_record(make_record(1))
    with pytest.raises(UnreadableError, match=f"holds the value of another record, {other[:16]}"):
        decode_record(key, value)


def test_a_sealed_answer_to_another_question_is_found(make_record):
    key = key_of(make_record(0))
    body = zstandard.compress(encode_payload(make_record(1)))
    with pytest.raises(UnreadableError, match="answers another question"):
        decode_record(key, seal(key, Value(1, body)))


def test_a_body_that_unpacks_to_gigabytes_is_refused_unopened(make_record):
    key = key_of(make_record())
    bomb = zstandard.compress(bytes(MAX_PAYLOAD_BYTES + 1))
    with pytest.raises(UnreadableError, match=f"unpacks to {MAX_PAYLOAD_BYTES + 1} bytes"):
        decode_record(key, seal(key, Value(1, bomb)))
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 20))
    with pytest.raises(UnreadableError, match="unpacks to an unknown size"):
        decode_record(key, seal(key, Value(1, silent)))


def test_migrations_are_applied_in_order_and_once():
    steps = (
        lambda fields: {**fields, "trail": "2"},
        lambda fields: {**fields, "trail": str(fields.get("trail")) + "3"},
    )
    assert to_current({"schema": 1}, steps) == {"schema": 3, "trail": "23"}
    assert to_current({"schema": 2}, steps) == {"schema": 3, "trail": "None3"}
    assert to_current({"schema": 3}, steps) == {"schema": 3}
    with pytest.raises(UnreadableError, match="schema 4: newer than 3"):
        to_current({"schema": 4}, steps)
