"""Kernels that were run, by how far their worst element is off: in bounds, and in its value.

A bound is derived for each element, so 1 is the border between right and wrong: 0.3 leaves room,
1.2 may be a bound that is too narrow, and 1e6 is a bug.
"""

from collections import Counter
from collections.abc import Iterable

from replay.outcome import Numerics, Result

_RIGHT = ((0.01, "up to 0.01x"), (0.1, "up to 0.1x"), (0.5, "up to 0.5x"), (1.0, "up to 1x"))
_WRONG = ((2.0, "up to 2x"), (10.0, "up to 10x"), (1000.0, "up to 1000x"))
_EXACT, _OPEN, _FAR, _NO_BOUND, _STRUCTURE = (
    "exact",
    "undecided",
    "above 1000x",
    "no bound",
    "structure",
)
BUCKETS = (
    _EXACT, *(name for _, name in _RIGHT), _OPEN, *(name for _, name in _WRONG), _FAR, _NO_BOUND,
    _STRUCTURE,
)  # fmt: skip
SEVERITIES = ("structure", ">=1", ">=0.1", ">=0.01", "<0.01")  # the worst first


def bucket_of(result: Result) -> str | None:
    """How many bounds its worst element is off; None of a kernel that was not run."""
    match result.numerics:
        case None | Numerics.SKIPPED | Numerics.UNFINISHED:
            return None
        case Numerics.EXACT:
            return _EXACT
        case Numerics.UNDECIDED:
            return _OPEN
        case Numerics.BOUNDED:
            return _first(result.of_bound or 0.0, _RIGHT, _RIGHT[-1][1])
        case Numerics.WRONG:
            if severity_of(result) == _STRUCTURE:
                return _STRUCTURE
            if result.of_bound is None:
                return _NO_BOUND
            return _first(result.of_bound, _WRONG, _FAR)


def severity_of(result: Result) -> str | None:
    """How far off the worst element of a wrong kernel is, relative to what was expected."""
    if result.numerics is not Numerics.WRONG:
        return None
    found = (name for name in SEVERITIES if result.elements.get(name))
    return next(found, _STRUCTURE)  # a run that ended its process left no numbers


def counted(names: Iterable[str | None], order: Iterable[str]) -> dict[str, int]:
    """How often each name comes, in the given order, without those that never do."""
    counts = Counter(names)
    return {name: counts[name] for name in order if counts[name]}


def _first(share: float, limits: Iterable[tuple[float, str]], beyond: str) -> str:
    return next((name for limit, name in limits if share <= limit), beyond)
