"""Text in a terminal's colours. The report needs four of them, and no 60 ms for a library."""

from dataclasses import dataclass, field

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}


@dataclass(slots=True)
class Text:
    """One line, made of parts with a style each. Owned by whoever builds it."""

    start: str
    style: str = ""
    parts: list[tuple[str, str]] = field(default_factory=list)

    def append(self, text: str, style: str = "") -> "Text":
        """Add a part; gives the line, so that calls can be chained."""
        self.parts.append((text, style))
        return self

    def render(self, *, is_colored: bool) -> str:
        """The line with escape sequences, or without."""
        parts = [(self.start, self.style), *self.parts]
        return "".join(_styled(*part) if is_colored else part[0] for part in parts)


def _styled(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text else text
