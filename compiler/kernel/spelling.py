"""Opts as text: `UPCAST g0 4`, or by number `UPCAST 0 4`; several are parted by `;`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields

from compiler.errors import IllegalOptError
from compiler.kernel.kernel import Opt
from compiler.kernel.opts import OPTS, Tc
from compiler.kernel.positional import Positional, opt_fields

_BY_OP: Mapping[str, Callable[..., Opt]] = {opt.op: opt for opt in OPTS}
_TYPES = {opt.op: tuple([field.type for field in fields(opt)]) for opt in OPTS}
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_NAME = re.compile(r"@?[A-Za-z0-9_.#-]+")


def format_opt(opt: Opt) -> str:
    """One opt as text; `parse_opt` reads it back."""
    if isinstance(opt, Positional):
        words = [str(number) for number in _numbers(opt) if number is not None]
        return " ".join([opt.op, *words])
    op, values = opt_fields(opt)
    return " ".join([op, *map(_word, values)])


def format_opts(opts: tuple[Opt, ...]) -> str:
    """Opts in order, parted by `; `."""
    return "; ".join([format_opt(opt) for opt in opts])


def parse_opt(text: str) -> Opt:
    """The opt spelled `text`. Raises IllegalOptError when there is no such opt."""
    op, *words = text.split()[:8] or [""]
    if op not in _TYPES:
        raise IllegalOptError(f"opt {text[:60]!r}: is unknown, use one of {' '.join(_TYPES)}")
    types = _TYPES[op]
    if op == Tc.op and len(words) == 4 and _NUMBER.fullmatch(words[0]):
        return Positional(op, *[_integer(text, word) for word in words])
    if len(words) != len(types):
        raise IllegalOptError(f"opt {text[:60]!r}: {len(words)} words after {op}, not {len(types)}")
    if str in types and _NUMBER.fullmatch(words[0]):
        return Positional(op, *[_integer(text, word) for word in words])
    values = [
        _name(text, word) if kind is str else _integer(text, word)
        for kind, word in zip(types, words, strict=True)
    ]
    return _BY_OP[op](*values)


def parse_opts(text: str) -> tuple[Opt, ...]:
    """Opts parted by `;`; an empty text is no opt."""
    return tuple([parse_opt(part) for part in text.split(";")]) if text.strip() else ()


def _numbers(opt: Positional) -> tuple[int | None, ...]:
    return opt.axis, opt.amount, opt.matching, opt.use


def _word(value: object) -> str:
    """A name that reads as a number is marked, so that it does not read as a position."""
    is_number_like = isinstance(value, str) and _NUMBER.fullmatch(value)
    return f"@{value}" if is_number_like else str(value)


def _name(text: str, word: str) -> str:
    if not _NAME.fullmatch(word) or _NUMBER.fullmatch(word):
        raise IllegalOptError(f"opt {text[:60]!r}: {word[:40]!r} is not the name of an axis")
    return word.removeprefix("@")


def _integer(text: str, word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise IllegalOptError(f"opt {text[:60]!r}: {word[:40]!r} is not an integer")
    return int(word)
