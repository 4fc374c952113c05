"""Is a result what a kernel may compute? Element by element against the reference and its bound.

Equal numbers are right, all NaNs are one, and a float within the bound is right; integers and bools
are right only if equal. Nothing is ever averaged: one wrong element is wrong.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from compiler.backends.reference import Bound

Array: TypeAlias = npt.NDArray[Any]
_FLOATS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


class Severity(Enum):
    """How far off the worst wrong element is, relative to what was expected; the worst first."""

    STRUCTURE = "structure"  # NaN or infinity against a number, or memory that nobody may write
    TOTAL = ">=1"
    LARGE = ">=0.1"
    MEDIUM = ">=0.01"
    SMALL = "<0.01"


_LIMITS = (0.01, 0.1, 1.0)  # of the shares, from SMALL to TOTAL


@dataclass(frozen=True, slots=True)
class Wrong:
    """The first wrong element of a buffer. Numbers as text: exact, and any report can show them."""

    buffer: str
    index: int
    value: str
    expected: str
    bound: str
    severity: Severity
    what: str = "value"  # or what was written that no one may write


@dataclass(frozen=True, slots=True)
class Comparison:
    """One buffer against the reference.

    `exact` elements are what the reference gives, bit for bit, and `bounded` ones within its error.
    `undecided` ones lie behind an open decision and are neither. `worst` is the largest share of
    the bound that a right element uses, `beyond` the distance of the worst wrong one in bounds.
    """

    elements: int
    exact: int
    bounded: int
    undecided: int
    wrong: int
    worst: float
    beyond: float = 0.0
    severities: tuple[tuple[Severity, int], ...] = ()
    first: Wrong | None = None

    @property
    def is_right(self) -> bool:
        return self.wrong == 0


def as_numbers(array: Array, dtype: str) -> Array:
    """Elements in the storage dtype as numbers: float64 for floats."""
    if dtype not in _FLOATS:
        return array
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.asarray(array.view(_FLOATS[dtype]).astype(np.float64))


def rounded(bound: Bound, dtype: str) -> Array:
    """The reference's values in the storage dtype."""
    if dtype not in _FLOATS:
        return bound.value
    with np.errstate(all="ignore"):
        narrow: Array = bound.value.astype(_FLOATS[dtype])
    return np.asarray(narrow.view(np.uint16)) if dtype == "bfloat16" else narrow


def compare(name: str, dtype: str, bound: Bound, result: Array, before: Array) -> Comparison:
    """`result` against the reference; elements it does not write must be as they were `before`."""
    same = _same(dtype, bound, result, before)
    rest = np.flatnonzero(~same)  # usually few: only they are looked at as numbers
    part, numbers = _part(bound, rest), as_numbers(result[rest], dtype)
    distance, inside = _inside(dtype, part, numbers)
    wrong = ~inside | ~part.written
    is_open = ~wrong & part.undecided
    bounded = ~wrong & ~part.undecided
    return Comparison(
        elements=result.size,
        exact=result.size - rest.size,
        bounded=int(np.count_nonzero(bounded)),
        undecided=int(np.count_nonzero(is_open)),
        wrong=int(np.count_nonzero(wrong)),
        worst=_worst(distance, part.error, bounded),
        beyond=_beyond(distance, part.error, wrong),
        severities=_severities(numbers, part, wrong),
        first=_first(name, dtype, rest, numbers, part, wrong) if wrong.any() else None,
    )


def is_possible(dtype: str, bound: Bound, result: Array, before: Array) -> bool:
    """Whether `compare` finds nothing wrong; a sample of the elements usually tells."""
    step = max(1, result.size // 4096)
    for some in (slice(0, None, step), slice(None)):
        part = _part(bound, some)
        rest = np.flatnonzero(~_same(dtype, part, result[some], before[some]))
        again = _part(part, rest)
        _, inside = _inside(dtype, again, as_numbers(result[some][rest], dtype))
        if not np.all(inside & again.written):
            return False
    return True


def _part(bound: Bound, where: Array | slice) -> Bound:
    return Bound(
        bound.value[where], bound.error[where], bound.undecided[where], bound.written[where]
    )


def _same(dtype: str, bound: Bound, result: Array, before: Array) -> Array:
    """Where the bits are the reference's, or those of before where nothing is to be written."""
    expected = rounded(bound, dtype)
    same = equal_bits(result, expected)
    if dtype in _FLOATS:
        same |= np.isnan(as_numbers(result, dtype)) & np.isnan(bound.value)
    return (
        same if bound.written.all() else np.where(bound.written, same, equal_bits(result, before))
    )


def _inside(dtype: str, bound: Bound, numbers: Array) -> tuple[Array, Array]:
    """How far off numbers are, and whether the bound allows it."""
    if dtype not in _FLOATS:
        same = np.asarray(numbers == bound.value)
        return np.where(same, 0.0, np.inf), same | bound.undecided
    with np.errstate(all="ignore"):
        distance = np.abs(numbers - bound.value)
    distance = np.where(np.isnan(distance), np.inf, distance)
    equal = (numbers == bound.value) | (np.isnan(numbers) & np.isnan(bound.value))
    return distance, np.asarray(equal | (distance <= bound.error))


def equal_bits(a: Array, b: Array) -> Array:
    """Equal elements, bit for bit."""
    word = np.dtype(f"u{a.dtype.itemsize}")
    return np.asarray(np.ascontiguousarray(a).view(word) == np.ascontiguousarray(b).view(word))


def _worst(distance: Array, error: Array, bounded: Array) -> float:
    usable = bounded & (error > 0) & np.isfinite(error)
    return float((distance[usable] / error[usable]).max()) if usable.any() else 0.0


def _beyond(distance: Array, error: Array, wrong: Array) -> float:
    if not wrong.any():
        return 0.0
    with np.errstate(all="ignore"):  # a bound of 0 is infinitely far
        return float(np.nan_to_num(distance[wrong] / error[wrong], nan=np.inf, posinf=np.inf).max())


# --- what is wrong ---


def severity_of(value: float, expected: float) -> Severity:
    """The bucket of one wrong element."""
    return tuple(Severity)[int(_buckets(np.array([value]), np.array([expected]))[0])]


def _buckets(values: Array, expected: Array) -> Array:
    """For each element the number of its Severity."""
    got, want = values.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        share = np.abs(got - want) / np.maximum(np.abs(want), np.finfo(np.float64).tiny)
    finite = np.isfinite(got) & np.isfinite(want)
    return np.where(finite, 4 - np.searchsorted(_LIMITS, share, side="right"), 0)


def _severities(numbers: Array, bound: Bound, wrong: Array) -> tuple[tuple[Severity, int], ...]:
    if not wrong.any():
        return ()
    strays = int(np.count_nonzero(wrong & ~bound.written))
    there = wrong & bound.written
    counts = np.bincount(_buckets(numbers[there], bound.value[there]), minlength=len(Severity))
    counts[0] += strays
    return tuple([(s, int(n)) for s, n in zip(Severity, counts, strict=True) if n])


def _first(name: str, dtype: str, rest: Array, numbers: Array, bound: Bound, wrong: Array) -> Wrong:
    here = int(np.flatnonzero(wrong)[0])
    index, value = int(rest[here]), numbers[here]
    if not bound.written[here]:
        text = "what it held"
        return Wrong(name, index, str(value), text, "0", Severity.STRUCTURE, "stray write")
    expected = as_numbers(rounded(_part(bound, slice(here, here + 1)), dtype), dtype)[0]
    severity = severity_of(float(value), float(expected))
    return Wrong(name, index, str(value), str(expected), f"{bound.error[here]:.3g}", severity)


# --- digests ---


def digest(outputs: Sequence[tuple[str, str, Array]]) -> str:
    """A digest of results (name, dtype, elements): equal where all bits are, NaNs being one."""
    state = hashlib.sha256()
    for name, dtype, array in outputs:
        state.update(f"{name} {dtype} {array.size}\n".encode())
        state.update(canonical(array, dtype).tobytes())
    return state.hexdigest()


def canonical(array: Array, dtype: str) -> Array:
    """The elements with one NaN for all, in the storage dtype."""
    if dtype not in _FLOATS:
        return np.ascontiguousarray(array)
    nan = np.array([np.nan]).astype(_FLOATS[dtype]).view(array.dtype)[0]
    return np.where(np.isnan(as_numbers(array, dtype)), nan, array)


def same_bits(a: Mapping[int, Array], b: Mapping[int, Array], dtypes: Mapping[int, str]) -> bool:
    """Whether two results are equal bit for bit, all NaNs being one."""
    return a.keys() == b.keys() and all(
        canonical(a[slot], dtypes[slot]).tobytes() == canonical(b[slot], dtypes[slot]).tobytes()
        for slot in a
    )
