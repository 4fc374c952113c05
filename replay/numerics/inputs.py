"""What a kernel is run on to be judged: chosen so that doing nothing, or too little, shows.

Three kinds of numbers. GRID: few bits, so that sums of products are exact and one wrong term of a
million is seen. DENSE: full mantissas and integers of all sizes, so that a lost bit is seen.
SPECIAL: infinities, NaNs, subnormals, zeros of both signs and limits, sprinkled over dense numbers
so thinly that a sum meets about one.

All numbers come from PCG64's raw stream by integer operations: the same on every machine, with
every version of NumPy.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # of the storage dtype: bfloat16 as its bits in uint16
ATTEMPTS = 3  # ways to choose grid and dense numbers, tried until the result cannot be guessed


class Kind(Enum):
    """What sort of numbers a kernel is run on."""

    GRID = "grid"
    DENSE = "dense"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class Slot:
    """A buffer of a kernel, its size a number."""

    name: str
    dtype: str
    size: int
    is_read: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: the variables and what each buffer holds, None for one that is only written."""

    kind: Kind
    attempt: int
    variables: tuple[tuple[str, int], ...]
    slots: tuple[Slot, ...]
    contents: tuple[Array | None, ...]

    @property
    def label(self) -> str:
        """The kind and the variables, as in `grid n=7`."""
        return " ".join([self.kind.value, *[f"{name}={value}" for name, value in self.variables]])


def make_sample(
    seed: str,
    kind: Kind,
    slots: tuple[Slot, ...],
    variables: Mapping[str, int],
    *,
    terms: int = 1,
    attempt: int = 0,
) -> Sample:
    """The inputs that `seed` gives. `terms` is how many numbers the kernel adds up at most.

    For bit-identical results on all backends the seed is a digest of the AST, not of the record.
    """
    contents: list[Array | None] = []
    for number, slot in enumerate(slots):
        stream = Stream(f"{seed} {kind.value} {attempt} {number} {slot.dtype}")
        fill = _BOOLS if slot.dtype == "bool" else _FLOATS if slot.dtype in _FORMATS else _INTS
        made = fill[kind](stream, slot, terms, attempt) if slot.is_read else None
        contents.append(made)
    return Sample(kind, attempt, tuple(sorted(variables.items())), slots, tuple(contents))


def variable_choices(limits: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], ...]:
    """All variables at their low ends, at their high ends and in the middle, without repetition."""
    ends = (
        {name: low for name, (low, _) in limits.items()},
        {name: high for name, (_, high) in limits.items()},
        {name: (low + high) // 2 for name, (low, high) in limits.items()},
    )
    return tuple([choice for index, choice in enumerate(ends) if choice not in ends[:index]])


def shrink_to_fit(
    choice: Mapping[str, int],
    limits: Mapping[str, tuple[int, int]],
    size_bytes: Callable[[Mapping[str, int]], int],
    most_bytes: int,
) -> dict[str, int]:
    """`choice`, or as much of the way to it from the low ends as fits in `most_bytes`."""
    low, high = 0, 1 << 16  # parts of the way from the low end to the choice
    if size_bytes(choice) <= most_bytes:
        return dict(choice)
    while high - low > 1:
        middle = (low + high) // 2
        if size_bytes(_toward(choice, limits, middle)) <= most_bytes:
            low = middle
        else:
            high = middle
    return _toward(choice, limits, low)


def _toward(
    choice: Mapping[str, int], limits: Mapping[str, tuple[int, int]], parts: int
) -> dict[str, int]:
    return {
        name: limits[name][0] + ((value - limits[name][0]) * parts >> 16)
        for name, value in choice.items()
    }


# --- randomness ---


class Stream:
    """Integers of a seed. Owned by whoever made it; every call moves it on."""

    def __init__(self, seed: str) -> None:
        digest = hashlib.sha256(seed.encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest[:16], "little"))

    def words(self, count: int) -> Array:
        """64 random bits each."""
        raw: Array = np.asarray(self._bits.random_raw(count), np.uint64).reshape(-1)
        return raw

    def below(self, limit: int, count: int) -> Array:
        """Integers from 0 to limit - 1, for limits up to 2**31."""
        high = self.words(count) >> np.uint64(32)
        scaled: Array = (high * np.uint64(limit)) >> np.uint64(32)
        return scaled.astype(np.int64)


# --- floats ---


@dataclass(frozen=True, slots=True)
class _Format:
    """The bits of a float dtype."""

    exponent: int
    fraction: int

    @property
    def word(self) -> np.dtype[Any]:
        return np.dtype(f"u{(1 + self.exponent + self.fraction) // 8}")

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1


_FORMATS = {
    "float16": _Format(5, 10),
    "bfloat16": _Format(8, 7),
    "float32": _Format(8, 23),
    "float64": _Format(11, 52),
}


def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype in which elements lie in a buffer."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def assemble(dtype: str, sign: Array, exponent: Array, fraction: Array) -> Array:
    """Floats of sign, exponent and fraction bits in the storage dtype."""
    form = _FORMATS[dtype]
    biased = (exponent + form.bias).astype(np.uint64)
    words = (sign.astype(np.uint64) << np.uint64(form.exponent)) | biased
    words = (words << np.uint64(form.fraction)) | fraction.astype(np.uint64)
    return words.astype(form.word).view(storage(dtype))


def _grid_floats(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    """Multiples of a power of two, below 2 and not 0, a quarter of them negative.

    Later attempts: 1/16 of that and positive, for kernels in which large ones overflow; powers of
    two around 1, for long products.
    """
    form, count = _FORMATS[slot.dtype], slot.size
    if attempt == 2:
        exponent = (stream.below(8, count) == 0).astype(np.int64)
        exponent -= stream.below(8, count) == 0
        sign = stream.below(4, count) == 0
        return assemble(slot.dtype, sign, exponent, np.zeros(count, np.int64))
    exact_bits = 52 if slot.dtype == "float64" else 23  # 16-bit floats are added up in float32
    bits = (exact_bits - max(1, terms - 1).bit_length()) // 2
    bits = max(2, min(bits, form.fraction, 8))
    whole = 1 + stream.below((1 << bits) - 1, count)
    length = np.zeros(count, np.int64)  # of `whole` in bits
    for bit in range(bits):
        length += whole >= (1 << bit)
    fraction = (whole << (form.fraction + 1 - length)) & ((1 << form.fraction) - 1)
    sign = (stream.below(4, count) == 0) & (attempt == 0)
    return assemble(slot.dtype, sign, length - bits - 4 * attempt, fraction)


def _dense_floats(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    """Numbers from 1/4 to 2 with full mantissas, a quarter of them negative; then positive ones."""
    form, count = _FORMATS[slot.dtype], slot.size
    fraction = stream.words(count) >> np.uint64(64 - form.fraction)
    sign = (stream.below(4, count) == 0) & (attempt == 0)
    spread = 1 if attempt == 2 else 3  # long products stay near 1
    exponent = stream.below(spread, count) - (spread - 1) - 4 * (attempt == 1)
    return assemble(slot.dtype, sign, exponent, fraction)


def _special_floats(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    form, word = _FORMATS[slot.dtype], _FORMATS[slot.dtype].word
    result = _dense_floats(stream, slot, terms, 0).view(word)
    infinity = ((1 << form.exponent) - 1) << form.fraction
    one, top = form.bias << form.fraction, 1 << (form.exponent + form.fraction)
    positive = [
        infinity,
        infinity - 1,  # the greatest number
        0,
        1,  # the least subnormal
        (1 << form.fraction) - 1,  # the greatest subnormal
        1 << form.fraction,  # the least normal number
        one,
        one + 1,
        one - 1,
        one + (5 << form.fraction),
    ]
    nan = infinity | (1 << (form.fraction - 1))
    pool = np.array([*positive, *[top | bits for bits in positive], nan], np.uint64).astype(word)
    return _sprinkle(stream, result, pool, terms).view(storage(slot.dtype))


def _sprinkle(stream: Stream, values: Array, pool: Array, terms: int) -> Array:
    """About one of `terms` values, and half of few, replaced by one of `pool`."""
    here = stream.below(max(2, min(terms, 1 << 20)), values.size) == 0
    if values.size and not here.any():
        here[int(stream.below(min(values.size, 1 << 30), 1)[0])] = True
    return np.where(here, pool[stream.below(len(pool), values.size)], values)


# --- integers and bools ---


def _grid_ints(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    """Half are small and likely to be an index that exists, some negative, some of any size."""
    count, dtype = slot.size, storage(slot.dtype)
    small, middle = stream.below(8 << (2 * attempt), count), stream.below(73, count) - 8
    choice = stream.below(4, count)
    wild = stream.words(count).astype(dtype)
    tame = np.where(choice < 2, small, middle).astype(dtype)
    return np.where(choice == 3, wild, tame)


def _dense_ints(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    """Integers of every length in bits."""
    dtype = storage(slot.dtype)
    bits = dtype.itemsize * 8
    words = stream.words(slot.size) >> np.uint64(64 - bits)
    words >>= stream.below(bits, slot.size).astype(np.uint64)
    return np.where(stream.below(2, slot.size) == 0, words, ~words).astype(dtype)


def _special_ints(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    info = np.iinfo(slot.dtype)
    low, high = int(info.min), int(info.max)
    values = [low, low + 1, high, high - 1, high // 2 + 1, 0, 1, 2, 3]
    pool = np.array([*values, *([-1, -2] if low else [])], storage(slot.dtype))
    return _sprinkle(stream, _grid_ints(stream, slot, terms, 0), pool, 2)


def _bools(stream: Stream, slot: Slot, terms: int, attempt: int) -> Array:
    return np.asarray(stream.below(2, slot.size) == 1)


_Fill: TypeAlias = Callable[[Stream, Slot, int, int], Array]
_FLOATS: dict[Kind, _Fill] = {
    Kind.GRID: _grid_floats,
    Kind.DENSE: _dense_floats,
    Kind.SPECIAL: _special_floats,
}
_INTS: dict[Kind, _Fill] = {
    Kind.GRID: _grid_ints,
    Kind.DENSE: _dense_ints,
    Kind.SPECIAL: _special_ints,
}
_BOOLS: dict[Kind, _Fill] = dict.fromkeys(Kind, _bools)
