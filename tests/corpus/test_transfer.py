"""What leaves a corpus in one file comes back byte for byte; what is broken in it is named."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3

import msgspec
import pytest

from corpus import (
    Conflict,
    CorpusError,
    DamagedCorpusError,
    EmptyCorpusError,
    ForeignCorpusError,
    Form,
    Launch,
    MissingCorpusError,
    Opt,
    Provenance,
    Side,
    Status,
    Stored,
    Unreadable,
    check_corpus,
    encode_record,
    export_corpus,
    key_of,
    merge_corpus,
    open_reader,
    open_writer,
)

FORMS = pytest.mark.parametrize("form", list(Form))


@pytest.fixture
def odd_corpus(tmp_path, make_record):
    """A corpus of records that differ in every way a record can."""
    records = [
        make_record(0),
        make_record(1, status=Status.STARTED, applied=None, source=None, name=None, launch=None),
        make_record(2, status=Status.FAILED, error="two\nlines \x1b[31m"),
        make_record(3, source="\x00\r\n\u2028\u202e\U0001f600", ast="tab\t\n\n  two\n "),
        make_record(4, source="", ast="%0 = no newline at the end", name='q"uote'),
        make_record(5, requested=(), applied=(), arguments=(), stages=(), estimates=None),
        make_record(6, requested=(Opt("NoLocals"), Opt("Local", {"axis": "g0", "whole": None}))),
        make_record(7, options={"a b": -0.0, "c": 1e300, "é": "\U0001f600", "n": 2**64 - 1}),
        make_record(8, numerics={"seed": 3, "out0": "feed"}, launch=Launch(), rewrites=None),
        make_record(9, provenance=Provenance(occurrences=12, dirty=True, tensor_op="sum")),
        make_record(10, extra={"mood": b"\x92\x01\xc0", "provenance/host": b"\xa1x"}),
        make_record(11, source="record 0\nchecksum 1\n\n\nsource\n"),
    ]  # fmt: skip
    with open_writer(tmp_path / "odd") as writer:
        for record in records:
            writer.add(record)
        writer.note_lost(2)
    return tmp_path / "odd"


def _rows(path) -> dict[str, bytes]:
    with open_reader(path, allow_empty=True) as reader:
        return dict(reader.values())


def _export(path, target, **how):
    with open_reader(path) as reader:
        return export_corpus(reader, target, **how)


def _merge(path, target, **how):
    with open_reader(path) as reader, open_writer(target) as writer:
        return merge_corpus(reader, writer, **how)


@FORMS
def test_export_and_import_give_the_same_bytes(tmp_path, odd_corpus, form):
    assert _export(odd_corpus, tmp_path / "one", form=form).records == 12
    assert _rows(tmp_path / "one") == _rows(odd_corpus)
    merged = _merge(tmp_path / "one", tmp_path / "again")
    assert (merged.added, merged.lost) == (12, 2)
    assert _rows(tmp_path / "again") == _rows(odd_corpus)
    _export(tmp_path / "again", tmp_path / "two", form=form)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with open_reader(tmp_path / "two") as reader:
        assert (reader.lost, len(reader), reader.why_damaged()) == (2, 12, ())


@FORMS
def test_an_archive_is_read_like_a_directory(tmp_path, make_corpus, form):
    path = make_corpus(30)
    _export(path, tmp_path / "archive", form=form)
    with open_reader(path) as one, open_reader(tmp_path / "archive") as other:
        keys = list(one.keys())
        assert list(one) == list(other)
        assert keys == list(other.keys())
        assert list(one.items(keys[4][:1])) == list(other.items(keys[4][:1]))
        assert one.read(keys[9]) == other.read(keys[9])
        assert other.read("0" * 64) is None


def test_the_text_form_reads_as_it_looks(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        writer.add(msgspec.structs.replace(make_record(), provenance=Provenance()))
    _export(tmp_path / "corpus", tmp_path / "text", form=Form.TEXT)
    lines = (tmp_path / "text").read_text().splitlines()
    checksum = hashlib.sha256("\n".join(lines[2:-3]).encode()).hexdigest()[:16]
    assert lines == [
        "kernel-replay corpus, text form 1",
        "",
        f"record {key_of(make_record())}",
        'kind "kernel-replay"',
        'name "e_0"',
        'status "finished"',
        'target "llvm" "x86-64-v3"',
        'capability "fp16" false',
        'capability "threads" 2',
        'option "math.fma" true',
        "requested null",
        'applied "Upcast" {"amount": 4, "axis": "g0"}',
        'launch [32, "n"] [1]',
        'argument "out0" "float32" 32 "out"',
        'estimates 64 "4*n"',
        "rewrites 12",
        'stage "group" "0123456789abcdef"',
        'stage "linearize" "fedcba9876543210"',
        "ast",
        "  kernel v1",
        "  %0 = const float32 0.0",
        "  %1 = store out0 %0",
        "",
        "source",
        "  define void @e_0(ptr %out) {",
        "    ret void",
        "  }",
        "",
        f"checksum {checksum}",
        "",
        "end",
    ]


def test_the_text_form_shows_no_control_character(tmp_path, odd_corpus):
    _export(odd_corpus, tmp_path / "text", form=Form.TEXT)
    text = (tmp_path / "text").read_bytes().decode()
    assert all(line.replace("\t", "").isprintable() for line in text.split("\n"))


def test_changing_a_source_changes_only_its_lines(tmp_path, make_corpus, make_record):
    path = make_corpus(20)
    _export(path, tmp_path / "before", form=Form.TEXT)
    with open_writer(path) as writer:
        writer.replace(make_record(7, source="define void @e_7() {\n  unreachable\n}\n"))
    _export(path, tmp_path / "after", form=Form.TEXT)
    before = (tmp_path / "before").read_text().splitlines()
    after = (tmp_path / "after").read_text().splitlines()
    changed = [line for line in after if line not in before]
    assert changed[:-1] == ["  define void @e_7() {", "    unreachable"]
    assert changed[-1].startswith("checksum ")
    assert len(after) == len(before)


@FORMS
def test_every_flipped_byte_of_an_archive_is_noticed(tmp_path, make_corpus, form):
    path = make_corpus(1)
    archive = tmp_path / "archive"
    _export(path, archive, form=form)
    whole = archive.read_bytes()
    expected = _rows(path)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x15
        archive.write_bytes(damaged)
        try:
            with open_reader(archive) as reader:
                check = check_corpus(reader)
                good = {item.key for item in reader if isinstance(item, Stored)}
        except CorpusError:
            continue
        assert not check.is_whole, (position, whole[max(0, position - 20) : position + 20])
        assert good <= set(expected)


@FORMS
def test_every_truncation_of_an_archive_is_noticed(tmp_path, make_corpus, form):
    archive = tmp_path / "archive"
    _export(make_corpus(1), archive, form=form)
    whole = archive.read_bytes()
    for length in range(len(whole)):
        archive.write_bytes(whole[:length])
        try:
            with open_reader(archive) as reader:
                assert not check_corpus(reader).is_whole, length
        except CorpusError:
            continue


def test_an_archive_cut_short_yields_what_is_whole_and_says_so(tmp_path, make_corpus):
    archive = tmp_path / "archive"
    _export(make_corpus(10), archive)
    keys = sorted(_rows(archive))
    whole = archive.read_bytes()
    archive.write_bytes(whole[: whole.index(b"R" + bytes.fromhex(keys[5])) + 60])
    with open_reader(archive) as reader:
        items = list(reader)
        assert len(reader) == len(items)
    good = [item.key for item in items if isinstance(item, Stored)]
    bad = [item.key for item in items if isinstance(item, Unreadable)]
    assert good == keys[:5]
    assert bad == [keys[5], ""]


DAMAGED_BYTES = {"tag": (0,), "key": range(1, 33), "length": (33, 35, 36), "value": (50,)}


@pytest.mark.parametrize("where", sorted(DAMAGED_BYTES))
def test_one_damaged_entry_of_an_archive_is_named_and_costs_no_other(tmp_path, make_corpus, where):
    archive = tmp_path / "archive"
    _export(make_corpus(7), archive)
    whole = archive.read_bytes()
    keys = sorted(_rows(archive))
    for key in keys:
        entry = whole.index(b"R" + bytes.fromhex(key))
        for offset in DAMAGED_BYTES[where]:
            damaged = bytearray(whole)
            damaged[entry + offset] ^= 0x40
            archive.write_bytes(damaged)
            with open_reader(archive) as reader:
                items = list(reader)
            # a key whose second half is damaged still shows which it was
            assert [item.key[:16] for item in items] == [key[:16] for key in keys], (where, offset)
            bad = [item.key[:16] for item in items if isinstance(item, Unreadable)]
            assert bad == [key[:16]]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", DamagedCorpusError),
        (b"KRA", DamagedCorpusError),
        (b"kernel-replay corpus, te", DamagedCorpusError),
        (b"PK\x03\x04 something else entirely, and long", ForeignCorpusError),
        (b"\x80\x04cposix\nsystem\n.", ForeignCorpusError),
        (b"kernel-replay corpus, text form 1\n\nend\n", EmptyCorpusError),
    ],
)
def test_files_that_hold_no_corpus_are_told_apart(tmp_path, content, kind):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(kind, match=f"corpus {tmp_path}/file: "):
        open_reader(tmp_path / "file")


@pytest.mark.parametrize(
    "entry",
    [
        b"R" + bytes(32) + b"\xff\xff\xff\xff",
        b"R" + bytes(32) + b"\x00\x00\x00\x05abc",
        b"E\xff\xff\xff\xff",
        b"E\x00\x00\x00\x01\x80" + hashlib.sha256(b"\x80").digest()[:8],
        b"X",
        b"R",
    ],
)
def test_a_hostile_archive_is_unreadable(tmp_path, entry):
    (tmp_path / "file").write_bytes(b"KRARCH1\n" + entry)
    with open_reader(tmp_path / "file") as reader:
        items = list(reader)
    assert items
    assert all(isinstance(item, Unreadable) for item in items)


def test_a_hostile_archive_that_breaks_everywhere_is_given_up_on(tmp_path, make_record):
    key, value = encode_record(make_record())
    entry = b"R" + bytes.fromhex(key) + b"\xff\xff\xff\xff" + value[:16]
    (tmp_path / "file").write_bytes(b"KRARCH1\n" + entry * 20_000)
    with open_reader(tmp_path / "file") as reader:
        assert len(list(reader)) == len(reader) <= 1001


def test_a_block_that_stands_twice_in_a_text_is_unreadable(tmp_path, make_corpus):
    text = tmp_path / "text"
    _export(make_corpus(2), text, form=Form.TEXT)
    header, *blocks = text.read_text().removesuffix("\nend\n").split("\nrecord ")
    text.write_text("\nrecord ".join([header, *blocks, blocks[0]]) + "\nend\n")
    with open_reader(text) as reader:
        assert [type(item) for item in reader] == [Unreadable, Stored]


def test_conflict_markers_of_a_merge_make_their_record_unreadable(tmp_path, make_corpus):
    text = tmp_path / "text"
    _export(make_corpus(3), text, form=Form.TEXT)
    content = text.read_text()
    at = content.index("source\n", content.index("record", content.index("record") + 1))
    text.write_text(content[:at] + "<<<<<<< ours\n" + content[at:])
    with open_reader(text) as reader:
        assert [type(item) for item in reader] == [Stored, Unreadable, Stored]
    text.write_text(content.replace("form 1\n", "form 1\n>>>>>>> theirs\n"))
    with open_reader(text) as reader:
        first, *rest = reader
    assert first == Unreadable("", "line 2: '>>>>>>> theirs' belongs to no record")
    assert len(rest) == 3


def test_what_cannot_be_read_is_reported_by_an_export(tmp_path, make_corpus, make_record):
    path = make_corpus(5)
    key = key_of(make_record(3))
    with sqlite3.connect(path / "cache.db") as database:
        database.execute("UPDATE Cache SET value = x'00' WHERE key = ?", (key,))
    exported = _export(path, tmp_path / "archive")
    assert exported.records == 4
    assert [item.key for item in exported.unreadable] == [key]
    assert key not in _rows(tmp_path / "archive")


@FORMS
def test_an_export_may_change_records_and_counts_what_becomes_equal(tmp_path, make_corpus, form):
    path = make_corpus(3)

    def strip(record):
        return type(record)(kind=record.kind, ast="stripped", target=record.target, name="k")

    _export(path, tmp_path / "shared", form=form, change=strip)
    with open_reader(tmp_path / "shared") as reader:
        (item,) = reader
    assert item.record.provenance == Provenance(occurrences=3)
    assert b"test_a.py" not in (tmp_path / "shared").read_bytes()


def test_an_export_that_fails_leaves_what_was_there(tmp_path, make_corpus):
    (tmp_path / "archive").write_text("precious")

    def fail(record):
        raise CorpusError("record: cannot be stripped")

    with pytest.raises(CorpusError, match="cannot be stripped"):
        _export(make_corpus(3), tmp_path / "archive", change=fail)
    assert (tmp_path / "archive").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["archive", "corpus"]


def test_an_export_that_cannot_rename_leaves_nothing_behind(monkeypatch, tmp_path, make_corpus):
    path = make_corpus(3)

    def refuse(source, target):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(CorpusError, match="input/output error"):
        _export(path, tmp_path / "archive")
    assert os.listdir(tmp_path) == ["corpus"]


def test_export_needs_the_name_of_a_file(tmp_path, make_corpus):
    with pytest.raises(ForeignCorpusError, match="a directory; give the name of a file"):
        _export(make_corpus(1), tmp_path)
    with pytest.raises(CorpusError, match="no such file or directory"):
        _export(make_corpus(1), tmp_path / "not" / "there")


def test_a_missing_archive_is_missing(tmp_path):
    with pytest.raises(MissingCorpusError):
        open_reader(tmp_path / "gone.kr")


def test_merging_is_a_union_and_merging_again_changes_nothing(tmp_path, make_record):
    for name, numbers in (("one", range(6)), ("two", range(4, 9))):
        with open_writer(tmp_path / name) as writer:
            for number in numbers:
                writer.add(make_record(number))
    assert _merge(tmp_path / "two", tmp_path / "one").added == 3
    rows = _rows(tmp_path / "one")
    assert len(rows) == 9
    again = _merge(tmp_path / "two", tmp_path / "one")
    assert (again.added, again.equal) == (0, 5)
    assert _rows(tmp_path / "one") == rows


@pytest.mark.parametrize(
    ("ours", "theirs", "prefer", "counted", "result"),
    [
        ({}, {"provenance": Provenance(revision="other")}, Side.OURS, "counted", {}),
        ({"status": Status.STARTED, "source": None}, {}, Side.OURS, "completed", {}),
        ({}, {"status": Status.STARTED, "source": None}, Side.OURS, "counted", {}),
        ({}, {"numerics": {"seed": 1}}, Side.OURS, "completed", {"numerics": {"seed": 1}}),
        ({}, {"source": "x", "rewrites": 5}, Side.OURS, "conflicts", {}),
        ({}, {"source": "x", "rewrites": 5}, Side.THEIRS, "conflicts", {"source": "x"}),
    ],
)
def test_two_answers_to_one_question_become_one(
    tmp_path, make_record, ours, theirs, prefer, counted, result
):
    with open_writer(tmp_path / "ours") as writer:
        writer.add(make_record(**ours))
    with open_writer(tmp_path / "theirs") as writer:
        writer.add(make_record(**theirs))
    merged = _merge(tmp_path / "theirs", tmp_path / "ours", prefer=prefer)
    if counted == "conflicts":
        key = key_of(make_record())
        assert merged.conflicts == (Conflict(key, "e_0", ("source", "rewrites")),)
    else:
        assert getattr(merged, counted) == 1
    with open_reader(tmp_path / "ours") as reader:
        (item,) = reader
    expected = {"source": make_record().source, "numerics": None, **result}
    assert {name: getattr(item.record, name) for name in expected} == expected
    assert item.record.provenance.occurrences == (1 if counted == "conflicts" else 2)


def test_an_incomplete_source_makes_an_incomplete_result(tmp_path, odd_corpus):
    _merge(odd_corpus, tmp_path / "result")
    with open_reader(tmp_path / "result") as reader:
        assert reader.lost == 2
