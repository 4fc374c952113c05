"""One of n parts of a corpus: a range of keys. Keys are digests, so the parts are of one size.

Every key lies in exactly one of the n parts, whoever asks, so that parts replayed on n machines are
the whole, and no record is replayed twice.
"""

import re
from dataclasses import dataclass

from replay.errors import UsageError

_FORM = re.compile(r"(\d{1,6})/(\d{1,6})\Z")
_DIGITS = 8  # of a key; enough to part millions of records evenly


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `total`, counted from 1."""

    number: int = 1
    total: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def has(self, key: str) -> bool:
        """Whether a record belongs here. Damage that has no key is the first's."""
        try:
            place = int(key[:_DIGITS], 16)
        except ValueError:
            return self.number == 1
        return place * self.total >> (4 * _DIGITS) == self.number - 1


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """Read I/N as on a command line."""
    match = _FORM.match(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text!r}: use I/N with I from 1 to N, as 1/4")
    return Shard(int(match[1]), int(match[2]))
