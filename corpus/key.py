"""The key of a record: the sha256 of its question, and of nothing else.

The canonical bytes are written by hand, field by field and length-prefixed, because keys must stay
the same under every version of every library. What is hashed never changes; see the frozen keys in
tests/corpus/test_key.py.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping

from corpus.errors import InvalidRecordError
from corpus.record import KernelRecord, Opt, Scalar

KEY_LENGTH = 64
_KEY = re.compile(r"[0-9a-f]{64}\Z")


def key_of(record: KernelRecord) -> str:
    """Name the question that `record` answers, as 64 hex digits."""
    return key_of_question(
        record.ast,
        backend=record.target.backend,
        profile=record.target.profile,
        options=record.options,
        requested=record.requested,
    )


def key_of_question(
    ast: str,
    *,
    backend: str,
    profile: str,
    options: Mapping[str, Scalar],
    requested: tuple[Opt, ...] | None,
) -> str:
    """Name a question before there is a record of it."""
    parts = ["question 1", _text(backend), _text(profile), *_mapping(options)]
    parts += ["free"] if requested is None else [f"fixed {len(requested)}"]
    for opt in requested or ():
        parts += [_text(opt.name), *_mapping(opt.fields)]
    parts.append(_text(ast))
    try:
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise InvalidRecordError(f"record: holds text that is not valid Unicode: {error}") from None


def is_key(text: str) -> bool:
    """Say whether `text` could be the key of a record."""
    return _KEY.match(text) is not None


def why_not_scalar(value: object) -> str | None:
    """Say why `value` cannot stand in a record, or None where it can."""
    match value:
        case None | bool() | str():
            return None
        case int():
            return None if -(2**63) <= value < 2**64 else f"{value} does not fit in 64 bits"
        case float():
            return None if math.isfinite(value) else f"{value} is not finite"
        case _:
            return f"{type(value).__name__} is not one of None, bool, int, float, str"


def _mapping(values: Mapping[str, Scalar]) -> Iterator[str]:
    yield f"map {len(values)}"
    for name in sorted(values):
        yield _text(name)
        yield _scalar(name, values[name])


def _scalar(name: str, value: Scalar) -> str:
    if (why := why_not_scalar(value)) is not None:
        raise InvalidRecordError(f"record: {name}: {why}; store it as text")
    match value:
        case None:
            return "none"
        case bool():
            return "bool true" if value else "bool false"
        case int():
            return f"int {value:d}"
        case float():
            return f"float {value.hex()}"
        case str():
            return _text(value)


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise InvalidRecordError(f"record: {value!r}: {type(value).__name__} where text belongs")
    return f"text {len(value)} {value}"
