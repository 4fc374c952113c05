"""A corpus as text for review: one block a record, in order of keys, source and AST as they read.

A line is a word and JSON values. `ast` and `source` stand alone on their line and are followed by
their text, two spaces in; a text that no terminal should be shown is JSON on the same line instead.
`requested null` leaves the choice to the compiler, `requested []` asks for no opt at all. A block
ends with a checksum over its lines: a change by hand, or a bad merge, makes it unreadable. The
file ends with `end`, and has neither a count nor a checksum of its own, so that two branches which
add records merge.

The words are those of schema 1 for ever; a new schema gets a new number of the text form.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from corpus.directory import inaccessible
from corpus.encoding import decode_payload, encode_record
from corpus.errors import CorpusError, DamagedCorpusError, UnreadableError
from corpus.key import is_key, key_of
from corpus.record import KernelRecord, RawItem, Unreadable
from corpus.words import TEXTS, WORDS, Fields, Words

HEADER = "kernel-replay corpus, text form 1"
MAX_TEXT_BYTES = 1 << 30
_SCHEMA = 1
_LOST = re.compile(r"lost (\d{1,10})\Z")
_INDENT = "  "
_END = "end"


def write_text(records: Iterable[KernelRecord], lost: int) -> Iterator[str]:
    """Yield the pieces of the text form of records that come in order of their keys."""
    yield f"{HEADER}\n" + (f"lost {lost}\n" if lost else "")
    for record in records:
        lines = [f"record {key_of(record)}", *_lines(record)]
        yield "\n".join(["", *lines, f"checksum {checksum_of(lines)}", ""])
    yield f"\n{_END}\n"


class Text:
    """The records of a text form, all in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if (size := path.stat().st_size) > MAX_TEXT_BYTES:
                raise DamagedCorpusError(path, f"{size} bytes, {MAX_TEXT_BYTES} are allowed")
            lines = path.read_bytes().decode(errors="surrogateescape").split("\n")
        except OSError as error:
            raise inaccessible(path, error) from None
        is_ended = lines[-2:] == [_END, ""]
        preamble, blocks = _blocks(lines[:-2] if is_ended else lines)
        self.lost, why = _read_preamble(preamble)
        if not is_ended:
            why = f"line {len(lines)}: the last line is not {_END!r}, so records may be missing"
        items: dict[str, RawItem] = {"": Unreadable("", why)} if why else {}
        for number, block in blocks:
            item = _read_block(number, block)
            key = item.key if isinstance(item, Unreadable) else item[0]
            items[key] = (
                Unreadable(key, f"line {number}: second of its key") if key in items else item
            )
        self._items = dict(sorted(items.items()))

    def close(self) -> None:
        """Hold nothing that needs letting go of."""

    def count(self) -> int:
        return len(self._items)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in self._items if key.startswith(prefix))

    def values(self, prefix: str) -> Iterator[RawItem]:
        return (self._items[key] for key in self.keys(prefix))

    def value(self, key: str) -> RawItem | None:
        return self._items.get(key)

    def at_rest(self) -> Path | None:
        """The file itself: nobody adds to one."""
        return self.path

    def why_damaged(self) -> tuple[str, ...]:
        """Each block stands for itself: there is nothing beside the records to be damaged."""
        return ()


def _lines(record: KernelRecord) -> Iterator[str]:
    fields = msgspec.to_builtins(record, builtin_types=(bytes,))
    for word, shape in WORDS.items():
        for words in shape.write(fields):
            yield " ".join([word, *(json.dumps(value, sort_keys=True) for value in words)])
    for word in TEXTS:
        if (text := fields[word]) is not None:
            yield from _text_lines(word, text)


def _text_lines(word: str, text: str) -> Iterator[str]:
    lines = text.split("\n")
    if not all(line.replace("\t", "").isprintable() for line in lines):
        yield f"{word} {json.dumps(text)}"
        return
    yield word
    yield from (_INDENT + line if line else "" for line in lines)


def _blocks(lines: list[str]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Cut lines before each record; number the first line of each block."""
    starts = [i for i, line in enumerate(lines) if line.startswith("record ")]
    preamble = lines[: starts[0]] if starts else lines
    return preamble, [(i + 1, lines[i:j]) for i, j in pairwise([*starts, len(lines)])]


def _read_preamble(lines: list[str]) -> tuple[int, str | None]:
    """Give the count of lost records, and what is wrong before the first record."""
    lost = 0
    if lines[0] != HEADER:
        return lost, f"line 1: {lines[0][:80]!r} where {HEADER!r} belongs"
    for number, line in enumerate(lines[1:], start=2):
        if match := _LOST.match(line):
            lost = int(match.group(1))
        elif line:
            return lost, f"line {number}: {line[:40]!r} belongs to no record"
    return lost, None


def _read_block(number: int, block: list[str]) -> RawItem:
    key = block[0].removeprefix("record ")
    try:
        if not is_key(key):
            raise UnreadableError(f"key {key[:80]!r}: not 64 hex digits")
        record = _read_record(block)
        if key_of(record) != key:
            raise UnreadableError(f"answers another question, {key_of(record)[:12]}")
        return encode_record(record)
    except (CorpusError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        return Unreadable(key, f"line {number}: {error}")


def _read_record(block: list[str]) -> KernelRecord:
    while block and not block[-1]:
        block = block[:-1]
    *lines, last = block
    if last != f"checksum {checksum_of(lines)}":
        raise UnreadableError(f"ends with {last[:40]!r}, its lines give {checksum_of(lines)}")
    fields: Fields = {"schema": _SCHEMA}
    at = 1
    while at < len(lines):
        word, _, rest = lines[at].partition(" ")
        at += 1
        if word in TEXTS and not rest:
            end = next((i for i in range(at, len(lines)) if _is_outer(lines[i])), len(lines))
            fields[word] = "\n".join(line.removeprefix(_INDENT) for line in lines[at:end])
            at = end
        elif word in TEXTS:
            (fields[word],) = _values(rest)
        elif word in WORDS:
            WORDS[word].read(fields, _values(rest))
        else:
            raise UnreadableError(f"{word[:40]!r} is not a word of this form")
    extra = fields.pop("extra", None)
    record = decode_payload(msgspec.msgpack.encode(fields))
    return msgspec.structs.replace(record, extra=extra) if extra else record


def _is_outer(line: str) -> bool:
    return bool(line) and not line.startswith(_INDENT)


def _values(text: str) -> Words:
    """Read the JSON values that stand side by side on a line."""
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        if at < len(text) and text[at] != " ":
            raise UnreadableError(f"{text[at : at + 40]!r} where a space belongs")
        at += 1
    return tuple(values)


def checksum_of(lines: list[str]) -> str:
    """Give the checksum that ends a block of these lines."""
    text = "\n".join(lines).encode(errors="surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]
