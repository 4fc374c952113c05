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


_LIMITS = ((1.0, Severity.TOTAL), (0.1, Severity.LARGE), (0.01, Severity.MEDIUM))


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
    the bound that a right element uses.
    """

    elements: int
    exact: int
    bounded: int
    undecided: int
    wrong: int
    worst: float
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
    reference = rounded(bound, dtype)
    numbers, expected = as_numbers(result, dtype), as_numbers(reference, dtype)
    same = equal_bits(canonical(result, dtype), canonical(reference, dtype))
    kept = equal_bits(result, before)
    if dtype in _FLOATS:
        distance = _distance(numbers, bound.value)
        inside = equal(numbers, bound.value) | (distance <= bound.error)
    else:
        distance = np.where(same, 0.0, np.inf)
        inside = same | np.asarray(bound.undecided)
    is_open = bound.written & bound.undecided & inside & ~same
    wrong = np.where(bound.written, ~inside, ~kept)
    bounded = bound.written & inside & ~same & ~is_open
    return Comparison(
        elements=result.size,
        exact=int(np.count_nonzero(np.where(bound.written, same, kept))),
        bounded=int(np.count_nonzero(bounded)),
        undecided=int(np.count_nonzero(is_open)),
        wrong=int(np.count_nonzero(wrong)),
        worst=_worst(distance, bound.error, bounded),
        severities=_severities(numbers, expected, bound.written, wrong),
        first=_first(name, numbers, expected, bound, wrong) if wrong.any() else None,
    )


def equal(a: Array, b: Array) -> Array:
    """Equal numbers (signed zeros are), or both NaN."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def equal_bits(a: Array, b: Array) -> Array:
    """Equal elements, bit for bit."""
    size = a.dtype.itemsize
    left, right = (np.ascontiguousarray(x).view(np.uint8).reshape(-1, size) for x in (a, b))
    return np.asarray((left == right).all(axis=1))


def _distance(numbers: Array, expected: Array) -> Array:
    with np.errstate(all="ignore"):
        distance = np.abs(numbers - expected)
    return np.where(np.isnan(distance), np.inf, distance)


def _worst(distance: Array, error: Array, bounded: Array) -> float:
    usable = bounded & (error > 0) & np.isfinite(error)
    return float((distance[usable] / error[usable]).max()) if usable.any() else 0.0


# --- what is wrong ---


def severity_of(value: float, expected: float) -> Severity:
    """The bucket of one wrong element."""
    return Severity(_buckets(np.array([value]), np.array([expected]))[0])


def _buckets(values: Array, expected: Array) -> list[str]:
    got, want = values.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        share = np.abs(got - want) / np.maximum(np.abs(want), np.finfo(np.float64).tiny)
    finite = np.isfinite(got) & np.isfinite(want)
    names = np.full(got.shape, Severity.SMALL.value, dtype=object)
    for limit, severity in reversed(_LIMITS):
        names[share >= limit] = severity.value
    names[~finite] = Severity.STRUCTURE.value
    return [str(name) for name in names]


def _severities(
    numbers: Array, expected: Array, written: Array, wrong: Array
) -> tuple[tuple[Severity, int], ...]:
    strays = int(np.count_nonzero(wrong & ~written))
    found = _buckets(numbers[wrong & written], expected[wrong & written])
    counts = {severity: found.count(severity.value) for severity in Severity}
    counts[Severity.STRUCTURE] += strays
    return tuple([(severity, count) for severity, count in counts.items() if count])


def _first(name: str, numbers: Array, expected: Array, bound: Bound, wrong: Array) -> Wrong:
    index = int(np.flatnonzero(wrong)[0])
    value, wanted = numbers[index], expected[index]
    if not bound.written[index]:
        text = "what it held"
        return Wrong(name, index, str(value), text, "0", Severity.STRUCTURE, "stray write")
    return Wrong(
        name,
        index,
        str(value),
        str(wanted),
        f"{bound.error[index]:.3g}",
        severity_of(float(value), float(wanted)),
    )


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
