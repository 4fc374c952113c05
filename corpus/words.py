"""The words of the text form: how each field of a record becomes lines of values, and back.

To add one: a line in WORDS, where it shall stand in a block. A word is never renamed or removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from corpus.errors import UnreadableError
from corpus.record import Provenance

Words = tuple[Any, ...]
Fields = dict[str, Any]
"""A record as msgspec gives it: nested dicts, lists and scalars, whose types it checks later."""


class Shape(Protocol):
    """One way to lay out a field. `write` gives the values of each of its lines."""

    def write(self, fields: Fields) -> Iterator[Words]: ...
    def read(self, fields: Fields, words: Words) -> None: ...


@dataclass(frozen=True, slots=True)
class One:
    """One value on one line; none where it is None."""

    field: str

    def write(self, fields: Fields) -> Iterator[Words]:
        if fields[self.field] is not None:
            yield (fields[self.field],)

    def read(self, fields: Fields, words: Words) -> None:
        (value,) = words
        _set_once(fields, self.field, value)


@dataclass(frozen=True, slots=True)
class Parts:
    """The named parts of a struct on one line."""

    field: str
    names: tuple[str, ...]

    def write(self, fields: Fields) -> Iterator[Words]:
        if (struct := fields[self.field]) is not None:
            yield tuple(struct[name] for name in self.names)

    def read(self, fields: Fields, words: Words) -> None:
        _set_once(fields, self.field, dict(zip(self.names, words, strict=True)))


@dataclass(frozen=True, slots=True)
class Rows:
    """A line for each item of a list: its named parts, or all of it where it has no names."""

    field: str
    names: tuple[str, ...] = ()

    def write(self, fields: Fields) -> Iterator[Words]:
        for item in fields[self.field]:
            yield tuple(item[name] for name in self.names) if self.names else tuple(item)

    def read(self, fields: Fields, words: Words) -> None:
        item = dict(zip(self.names, words, strict=True)) if self.names else words
        fields.setdefault(self.field, []).append(item)


@dataclass(frozen=True, slots=True)
class Opts:
    """A line for each opt, one of `null` where there is no list, one of `[]` where it is empty."""

    field: str

    def write(self, fields: Fields) -> Iterator[Words]:
        opts = fields[self.field]
        if not opts:
            yield (opts,)
        for opt in opts or ():
            yield opt["name"], opt["fields"]

    def read(self, fields: Fields, words: Words) -> None:
        if words in ((None,), ([],)):
            _set_once(fields, self.field, words[0])
            return
        name, values = words
        if fields.setdefault(self.field, []) is None:
            raise UnreadableError(f"{self.field} is null and then an opt")
        fields[self.field].append({"name": name, "fields": values})


@dataclass(frozen=True, slots=True)
class Pairs:
    """A line for each entry of a mapping, in order of names."""

    path: tuple[str, ...]

    def write(self, fields: Fields) -> Iterator[Words]:
        mapping = fields
        for step in self.path:
            mapping = mapping[step]
        yield from sorted(mapping.items())

    def read(self, fields: Fields, words: Words) -> None:
        name, value = words
        for step in self.path:
            fields = fields.setdefault(step, {})
        _set_once(fields, name, value)


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of the provenance, on one line."""

    def write(self, fields: Fields) -> Iterator[Words]:
        unknown = msgspec.to_builtins(Provenance())
        known = {name: v for name, v in fields["provenance"].items() if v != unknown[name]}
        if known:
            yield (known,)

    def read(self, fields: Fields, words: Words) -> None:
        One("provenance").read(fields, words)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Fields of a newer writer: their path, and their msgpack bytes in hex."""

    def write(self, fields: Fields) -> Iterator[Words]:
        for path, data in sorted(fields.get("extra", {}).items()):
            yield path, data.hex()

    def read(self, fields: Fields, words: Words) -> None:
        path, data = words
        _set_once(fields.setdefault("extra", {}), path, bytes.fromhex(data))


WORDS: dict[str, Shape] = {
    "kind": One("kind"),
    "name": One("name"),
    "status": One("status"),
    "error": One("error"),
    "target": Parts("target", ("backend", "profile")),
    "capability": Pairs(("target", "capabilities")),
    "option": Pairs(("options",)),
    "requested": Opts("requested"),
    "applied": Opts("applied"),
    "launch": Parts("launch", ("global_size", "local_size")),
    "argument": Rows("arguments", ("name", "dtype", "size", "kind")),
    "estimates": Parts("estimates", ("flops", "bytes")),
    "rewrites": One("rewrites"),
    "stage": Rows("stages"),
    "numerics": One("numerics"),
    "provenance": Origin(),
    "extra": Unknown(),
}
TEXTS = ("ast", "source")


def _set_once(fields: Fields, name: str, value: object) -> None:
    if name in fields:
        raise UnreadableError(f"{name!r} stands there twice")
    fields[name] = value
