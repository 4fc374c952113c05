"""The rows of the result, and their text."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement beside its peer; a dash where no peer was measured."""

    what: str
    ours: str
    peer: str = "-"
    ratio: str = "-"
    goal: str = ""


def compared(what: str, ours: float, peer: float, unit: str, peer_name: str) -> Row:
    """A row of two rates in the same unit, both of this run."""
    return Row(
        what,
        f"{_number(ours)} {unit}",
        f"{_number(peer)} {peer_name}",
        f"{ours / peer:.2f}",
        "0.9",
    )


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def render(rows: Sequence[Row]) -> str:
    """A Markdown table that reads as plain text too."""
    lines: list[tuple[str, ...]] = [("what", "ours", "peer", "ratio", "goal")]
    lines += [(row.what, row.ours, row.peer, row.ratio, row.goal) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    lines.insert(1, tuple("-" * width for width in widths))
    cells = [
        [text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in lines
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
