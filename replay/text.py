"""Text from a corpus on its way to a terminal: nothing in it may steer the terminal, or the CI
system that reads along."""

import re

_COMMAND = re.compile(r"^(\s*)(::|##\[)", re.MULTILINE)  # a line that GitHub or Azure would obey


def printable(text: str) -> str:
    """`text` with control characters, but for newlines and tabs, made visible."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else _visible(c) for c in text)
    return _COMMAND.sub(r"\1\\\2", shown)


def one_line(text: str) -> str:
    """`text` printable and on one line."""
    return " ".join(printable(text).split())


def cut(text: str, width: int) -> str:
    """At most `width` characters of a line, with a mark where there were more."""
    return text if len(text) <= width else f"{text[: width - 3].rstrip()}..."


def _visible(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
