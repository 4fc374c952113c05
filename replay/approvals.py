"""The ledger of approved differences: a text file that merges, one approval a line.

A line is: old digest, new digest, until (a date or `-`), who, reason; parted by tabs. Digests name
all that is compared of a kernel, so an approval holds for one difference and for no other.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from replay.alone import alone_in
from replay.compare.diff import DIGEST_LENGTH
from replay.errors import PolicyError

HEADER = "# approved differences: old\tnew\tuntil\twho\treason"
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}")


@dataclass(frozen=True, slots=True, order=True)
class Approval:
    """One difference that somebody accepted, until a day or for good."""

    old: str
    new: str
    until: date | None
    who: str
    reason: str

    @property
    def line(self) -> str:
        until = self.until.isoformat() if self.until else "-"
        return "\t".join((self.old, self.new, until, self.who, self.reason))


@dataclass(frozen=True, slots=True)
class Ledger:
    """Approvals by pair of digests; those that ran out are kept apart, to be named."""

    valid: Mapping[tuple[str, str], Approval]
    expired: Mapping[tuple[str, str], Approval]

    def find(self, old: str, new: str) -> Approval | None:
        return self.valid.get((old, new))


def read_ledger(path: Path, today: date) -> Ledger:
    """The approvals of a file; none where it does not exist."""
    valid: dict[tuple[str, str], Approval] = {}
    expired: dict[tuple[str, str], Approval] = {}
    for approval in _read(path):
        is_over = approval.until is not None and approval.until < today
        (expired if is_over else valid)[approval.old, approval.new] = approval
    return Ledger(valid, expired)


def add_approvals(path: Path, approvals: Iterable[Approval]) -> int:
    """Put approvals into the file, sorted, one for each pair. Returns how many are new."""
    with alone_in(path.resolve().parent):
        by_pair = {(approval.old, approval.new): approval for approval in _read(path)}
        before = dict(by_pair)
        by_pair.update({(approval.old, approval.new): approval for approval in approvals})
        lines = [HEADER, *(by_pair[pair].line for pair in sorted(by_pair))]
        _write(path, "\n".join(lines) + "\n")
    return sum(before.get(pair) != approval for pair, approval in by_pair.items())


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a ledger that was cut short has lost what others approved."""
    path = path.resolve()  # a link stays one
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise PolicyError(
            f"approvals {path}: {error.strerror}; nothing was approved, make room or get the right"
        ) from None


def _read(path: Path) -> list[Approval]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"approvals {path}: {error}; correct the file") from None
    lines = enumerate(text.splitlines(), 1)
    return [_parse(path, number, line) for number, line in lines if line and line[0] != "#"]


def _parse(path: Path, number: int, line: str) -> Approval:
    parts = line.split("\t")
    place = f"approvals {path}, line {number}"
    if len(parts) != 5:
        raise PolicyError(f"{place}: has {len(parts)} of 5 fields parted by tabs; see {HEADER!r}")
    old, new, until, who, reason = parts
    if not _DIGEST.fullmatch(old) or not _DIGEST.fullmatch(new):
        raise PolicyError(f"{place}: digests have {DIGEST_LENGTH} hex digits; use `replay accept`")
    if not who.strip() or not reason.strip():
        raise PolicyError(f"{place}: says not who approved it or why; complete it")
    try:
        end = None if until == "-" else date.fromisoformat(until)
        if end is not None and end.isoformat() != until:  # Python takes weeks as well
            raise ValueError
    except ValueError:
        raise PolicyError(f"{place}: {until!r} is no date; use YYYY-MM-DD or -") from None
    return Approval(old, new, end, who, reason)
