"""Whole numbers in the text of a kernel, which may be anybody's: none has more than 64 bits.

So that a chain of products, or a number of a million digits, costs nothing.
"""

import re

_WORD = re.compile(r"-?[0-9]{1,20}", re.ASCII)  # unlike str.isdigit, which is true of "²"
LIMIT = 1 << 64


def whole(word: str) -> int | None:
    """The number that `word` spells; None for any other word."""
    return kept(int(word)) if _WORD.fullmatch(word) else None


def kept(value: int) -> int | None:
    """`value`, or None where it is too large to be meant."""
    return value if abs(value) <= LIMIT else None
