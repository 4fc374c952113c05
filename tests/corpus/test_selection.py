"""Records are chosen as git chooses commits, and what cannot be read is never left out."""

from __future__ import annotations

import re
import sqlite3

import pytest

from corpus import (
    Provenance,
    Selection,
    SelectionError,
    Status,
    Stored,
    Target,
    Unreadable,
    key_of,
    open_reader,
    open_writer,
    resolve_key,
    select,
)


@pytest.fixture
def reader(tmp_path, make_record):
    with open_writer(tmp_path / "corpus") as writer:
        for number in range(40):
            writer.add(
                make_record(
                    number,
                    target=Target("llvm" if number % 2 else "opencl", "v3"),
                    status=Status.FAILED if number == 7 else Status.FINISHED,
                    provenance=Provenance(test_id=f"tests/a.py::test[{number}]", revision="abc"),
                )
            )
    with open_reader(tmp_path / "corpus") as reader:
        yield reader


def _names(reader, **fields) -> list[str]:
    return sorted(item.record.name for item in select(reader, Selection(**fields)))


def test_the_first_digits_of_a_key_name_a_record(reader):
    for key in reader.keys():  # noqa: SIM118  # as a reader is no mapping
        assert resolve_key(reader, key) == key
        assert resolve_key(reader, key[:10]) == key
        assert resolve_key(reader, key[:10].upper()) == key


def test_an_ambiguous_prefix_lists_its_candidates(reader):
    keys = list(reader.keys())
    shared = next(key[:1] for key in keys if sum(k[0] == key[0] for k in keys) > 1)
    some = [key for key in keys if key.startswith(shared)]
    with pytest.raises(SelectionError) as caught:
        resolve_key(reader, shared)
    message = str(caught.value)
    assert message.startswith(f"key {shared!r}: ambiguous, give more digits: {some[0][:12]} (e_")
    assert re.findall(r"[0-9a-f]{12}", message) == [key[:12] for key in some]


@pytest.mark.parametrize("prefix", ["", "zz", "0" * 65, "%", "_"])
def test_a_prefix_of_nothing_is_an_error(reader, prefix):
    with pytest.raises(SelectionError, match=r"^key "):
        resolve_key(reader, prefix)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 40),
        ({"only": ("e_7",)}, 1),
        ({"only": ("e_?",)}, 10),
        ({"only": ("e_1*", "e_2")}, 12),
        ({"only": ("E_7",)}, 0),
        ({"target": "llvm"}, 20),
        ({"target": "opencl/v3"}, 20),
        ({"target": "*/v3"}, 40),
        ({"test": "tests/a.py::test[7]"}, 1),
        ({"test": "tests/*"}, 40),
        ({"status": Status.FAILED}, 1),
        ({"revision": "abd*"}, 0),
        ({"target": "llvm", "only": ("e_?",)}, 5),
        ({"limit": 3}, 3),
        ({"limit": 0}, 0),
    ],
)
def test_every_field_narrows_the_choice(reader, fields, expected):
    assert len(_names(reader, **fields)) == expected


def test_keys_choose_records_and_other_fields_narrow_them(reader, make_record):
    keys = list(reader.keys())
    chosen = list(select(reader, Selection(keys=(keys[5][:12], keys[3], keys[5]))))
    assert [item.key for item in chosen] == [keys[3], keys[5]]
    assert not list(select(reader, Selection(keys=(keys[5],), only=("nothing",))))


def test_an_unreadable_record_is_chosen_by_every_filter(make_corpus, make_record):
    path = make_corpus(5)
    key = key_of(make_record(3))
    with sqlite3.connect(path / "cache.db") as database:
        database.execute("UPDATE Cache SET value = x'00' WHERE key = ?", (key,))
    with open_reader(path) as reader:
        items = list(select(reader, Selection(only=("e_1",), target="llvm")))
    assert [type(item) for item in sorted(items, key=lambda item: item.key != key)] == [
        Unreadable,
        Stored,
    ]
