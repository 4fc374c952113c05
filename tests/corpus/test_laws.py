"""Laws that hold for every record and for every heap of bytes."""

from __future__ import annotations

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus import (
    Argument,
    ArgumentKind,
    CorpusError,
    Estimates,
    KernelRecord,
    Launch,
    Opt,
    Provenance,
    Status,
    Stored,
    Target,
    Unreadable,
    UnreadableError,
    decode_record,
    encode_record,
    key_of,
    open_reader,
)
from corpus.archive import write_archive
from corpus.baseline import Added, Decision, Side, ask, complete, merge
from corpus.encoding import Value, encode_payload, seal
from corpus.text import HEADER, checksum_of, write_text

texts = st.text(max_size=30)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
mappings = st.dictionaries(texts, scalars, max_size=4)
sizes = st.one_of(st.integers(-(2**63), 2**64 - 1), texts)
opts = st.lists(st.builds(Opt, texts, mappings), max_size=3).map(tuple)


def _maybe(strategy):
    return st.one_of(st.none(), strategy)


records = st.builds(
    KernelRecord,
    kind=texts,
    ast=texts,
    target=st.builds(Target, texts, texts, mappings),
    options=mappings,
    requested=_maybe(opts),
    applied=_maybe(opts),
    name=_maybe(texts),
    source=_maybe(st.one_of(texts, st.text(alphabet=" \t\nab;", max_size=60))),
    stages=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    launch=_maybe(
        st.builds(Launch, st.lists(sizes).map(tuple), st.lists(sizes, max_size=3).map(tuple))
    ),
    arguments=st.lists(
        st.builds(Argument, texts, texts, sizes, st.sampled_from(ArgumentKind)), max_size=3
    ).map(tuple),
    estimates=_maybe(st.builds(Estimates, sizes, sizes)),
    rewrites=_maybe(st.integers(0, 2**40)),
    numerics=_maybe(mappings),
    status=st.sampled_from(Status),
    error=_maybe(texts),
    provenance=st.builds(
        Provenance,
        revision=_maybe(texts),
        dirty=_maybe(st.booleans()),
        toolchain=st.dictionaries(texts, texts, max_size=3),
        test_id=_maybe(texts),
        call_site=_maybe(texts),
        tensor_op=_maybe(texts),
        captured_at=_maybe(texts),
        occurrences=st.integers(0, 2**32 - 1),
    ),
)
plain = st.recursive(
    st.one_of(scalars, st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)

more = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@more
@given(records)
def test_decode_undoes_encode(record):
    key, value = encode_record(record)
    assert decode_record(key, value) == record
    assert encode_record(decode_record(key, value)) == (key, value)


@more
@given(st.lists(records, max_size=4))
def test_both_forms_of_an_archive_keep_every_record(tmp_path, given_records):
    by_key = {key_of(record): record for record in given_records}
    items = sorted(by_key.items())
    with (tmp_path / "binary").open("wb") as file:
        write_archive(file, (encode_record(record) for _, record in items), 0)
    (tmp_path / "text").write_bytes("".join(write_text((r for _, r in items), 0)).encode())
    for name in ("binary", "text"):
        with open_reader(tmp_path / name, allow_empty=True) as reader:
            assert list(reader) == [Stored(key, record) for key, record in items]


@more
@given(records, st.data())
def test_any_change_of_a_value_is_noticed(record, data):
    key, value = encode_record(record)
    changed = bytearray(value)
    at = data.draw(st.integers(0, len(value) - 1))
    match data.draw(st.sampled_from(("flip", "cut", "drop", "insert"))):
        case "flip":
            changed[at] ^= data.draw(st.integers(1, 255))
        case "cut":
            del changed[at:]
        case "drop":
            del changed[at]
        case "insert":
            changed.insert(at, data.draw(st.integers(0, 255)))
    if bytes(changed) != value:
        with pytest.raises(UnreadableError):
            decode_record(key, bytes(changed))


@more
@given(st.text(alphabet="0123456789abcdef", min_size=64, max_size=64), st.binary(max_size=200))
def test_no_bytes_are_a_record_by_chance(key, value):
    with pytest.raises(UnreadableError):
        decode_record(key, value)
    with pytest.raises(UnreadableError):  # even where someone computed the checksum
        decode_record(key, seal(key, Value(1, value)))


@more
@given(records, st.data())
def test_whatever_fields_hold_is_a_record_or_unreadable(record, data):
    fields = msgspec.msgpack.decode(encode_payload(record))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(
            st.sampled_from([fields, fields["target"], fields["provenance"]])
            if isinstance(fields.get("target"), dict) and isinstance(fields.get("provenance"), dict)
            else st.just(fields)
        )
        place[data.draw(st.one_of(st.sampled_from(sorted(place) or ["a"]), texts))] = data.draw(
            plain
        )
    body = zstandard.compress(msgspec.msgpack.encode(fields))
    key = key_of(record)
    try:
        decoded = decode_record(key, seal(key, Value(1, body)))
    except UnreadableError:
        return
    assert key_of(decoded) == key
    again, value = encode_record(decoded)
    assert decode_record(again, value) == decoded


@more
@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda b: b"KRARCH1\n" + b)))
def test_any_file_is_a_corpus_or_a_clear_error(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    try:
        with open_reader(tmp_path / "file") as reader:
            assert len(list(reader)) == len(reader)
            assert reader.why_damaged()
    except CorpusError:
        return


ODD_LINES = (
    "ast",
    "source",
    "end",
    "record",
    "checksum 0",
    "requested null",
    "requested []",
    'applied "Upcast" {}',
    "  x",
    'target "a" "b"',
    'capability "a" 1',
    "option [] 1",
    "launch [1] [1]",
    'extra "a" "zz"',
    "extra 1 2",
    "rewrites 1e999",
    "estimates 1",
    "numerics {}",
    "provenance []",
    'kind {"a": [[[[]]]]}',
    "status 5",
)
text_lines = st.one_of(texts, st.sampled_from(ODD_LINES))


@more
@given(records, st.lists(text_lines, max_size=6), st.data())
def test_any_lines_of_a_text_are_a_record_or_unreadable(tmp_path, record, lines, data):
    whole = "".join(write_text([record], 0)).split("\n")[2:-4]
    at = data.draw(st.integers(1, len(whole)))
    block = [*whole[:at], *lines, *whole[at:]]
    block = [line for part in block for line in part.split("\n")]
    content = "\n".join([HEADER, "", *block, f"checksum {checksum_of(block)}", "", "end", ""])
    (tmp_path / "text").write_bytes(content.encode())
    with open_reader(tmp_path / "text") as reader:
        for item in reader:
            assert isinstance(item, Unreadable) or item.key == key_of(item.record)


@more
@given(records, records, st.lists(st.sampled_from(("ask", "complete")), max_size=6))
def test_the_first_whole_answer_stays(record, other, steps):
    key, first = encode_record(
        msgspec.structs.replace(record, status=Status.FINISHED, provenance=Provenance())
    )
    answer = {
        name: getattr(other, name)
        for name in ("source", "applied", "name", "stages", "rewrites", "status")
    }
    _, second = encode_record(msgspec.structs.replace(decode_record(key, first), **answer))
    value = ask(key, None, first).value
    for step in steps:
        decision = (ask if step == "ask" else complete)(key, value, second)
        value = decision.value or value
    stored = decode_record(key, value)
    assert stored.provenance.occurrences == 1 + steps.count("ask")
    assert msgspec.structs.replace(stored, provenance=Provenance()) == decode_record(key, first)


@more
@given(records)
def test_merging_a_record_with_itself_changes_nothing(record):
    key, value = encode_record(record)
    assert merge(key, value, value, Side.OURS) == Decision(Added.KEPT, None)
    assert merge(key, None, value, Side.OURS) == Decision(Added.NEW, value)
