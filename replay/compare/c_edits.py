"""What was done to a statement of C, in the operators and functions of C."""

import re
from collections import Counter
from collections.abc import Iterable

_QUALIFIERS = r"(?:__kernel|kernel|void|__attribute__|while|for|switch|return|sizeof)"
_CALL = rf"\b(?!{_QUALIFIERS}\b)[A-Za-z_]\w*(?=\()|\bif\b"
_OPERATOR = r"<<=?|>>=?|[-+]{2}|[-+*/%<>&|^=!]=|&&|\|\||[-+*/%<>&|^!~?]"
_WORDS = re.compile(f"{_CALL}|{_OPERATOR}")
_GUARDS = {"if": "if", "?": "?:"}


def is_c(line: str) -> bool:
    """Whether a line of a source is a statement of C; LLVM's end in no semicolon."""
    return line.rstrip().endswith((";", "{", "}")) and "define " not in line


def words(line: str) -> Counter[str]:
    """The operators and functions of a statement, and how often each stands there."""
    found = Counter(_WORDS.findall(line))
    return Counter({_GUARDS.get(word, word): count for word, count in found.items()})


def statement(line: str) -> str:
    """A statement by what it does, for a title."""
    does = _listed(words(line))
    if does:
        return f"statement with {does}"
    return "assignment" if "=" in line else line.strip().rstrip(";")[:12] or "empty line"


def exchanged(gone: str, came: str) -> str | None:
    """What one statement has that the other has not; None where both compute alike."""
    lost, gained = words(gone) - words(came), words(came) - words(gone)
    if lost and gained:
        return f"{_listed(lost)} -> {_listed(gained)}"
    if lost:
        return _said(lost, "removed")
    return _said(gained, "added") if gained else None


def _said(found: Iterable[str], verb: str) -> str:
    """A condition that goes takes its comparisons along: it is named first."""
    guards = [word for word in sorted(found) if word in _GUARDS.values()]
    others = [word for word in sorted(found) if word not in guards]
    if not guards:
        return f"{' '.join(others)} {verb}"
    condition = f" on {' '.join(others)}" if others else ""
    return f"guard {' '.join(guards)}{condition} {verb}"


def _listed(found: Iterable[str]) -> str:
    return " ".join(sorted(found))
