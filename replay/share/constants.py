"""Constants of a program replaced by others that the compiler treats alike.

Numbers that rules look for are landmarks and stay: integers up to 64, powers of two and their
predecessors, infinities and the largest float. Every other constant lies between two landmarks;
the constants of a kernel that lie between the same two are spread evenly over that interval, in
their order. So signs, equality and every comparison of two constants stay what they were, and
nothing is told of a constant but the landmarks around it.
"""

import math
import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from compiler.ir import BFLOAT16, DType, Number, round_to

_SMALL = 64
_LAYOUTS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_MANTISSA_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def replaced(
    dtype: DType, values: Collection[Number], kept: Iterable[Number]
) -> dict[Number, Number]:
    """What each constant of a kernel that is of `dtype` becomes; `kept` ones are landmarks too.

    Constants are numbers above or below 0: there is nothing to hide in zero, NaN, true and false.
    """
    if not dtype.is_float:
        places = sorted({*_whole_landmarks(), *(abs(int(value)) for value in kept)})
        whole = _spread_both_signs(map(int, values), places)
        return {value: whole[int(value)] for value in values}
    numbers = {value: _number(dtype, float(value)) for value in values}
    moved = _spread_both_signs(numbers.values(), _float_landmarks(dtype))
    return {value: _float(dtype, moved[number]) for value, number in numbers.items()}


def _spread_both_signs(values: Iterable[int], landmarks: Sequence[int]) -> dict[int, int]:
    whole = set(values)
    above = _spread((value for value in whole if value >= 0), landmarks)
    below = _spread((-value for value in whole if value < 0), landmarks)
    return {**above, **{-value: -new for value, new in below.items()}}


def _spread(values: Iterable[int], landmarks: Sequence[int]) -> dict[int, int]:
    """Numbers that are no landmarks, spread evenly between the two around them, in order."""
    found: dict[int, int] = {}
    between: defaultdict[int, list[int]] = defaultdict(list)
    for value in sorted(values):
        place = bisect_left(landmarks, value)
        if landmarks[place] == value:
            found[value] = value
        else:
            between[place].append(value)
    for place, here in between.items():
        low, high = landmarks[place - 1], landmarks[place]
        for rank, value in enumerate(here, 1):  # there is room for all: they lay there before
            found[value] = low + (high - low) * rank // (len(here) + 1)
    return found


@cache
def _whole_landmarks() -> tuple[int, ...]:
    powers = [1 << exponent for exponent in range(65)]
    return tuple(sorted({*range(_SMALL + 1), *powers, *(power - 1 for power in powers)}))


@cache
def _float_landmarks(dtype: DType) -> tuple[int, ...]:
    """Zero, powers of two, the largest number and infinity."""
    infinity = _number(dtype, math.inf)
    return (*range(0, infinity, 1 << _MANTISSA_BITS[dtype.name]), infinity - 1, infinity)


def _number(dtype: DType, value: float) -> int:
    """The bits of a float as a number: ordered as floats are, and signed as they are."""
    magnitude = abs(round_to(dtype, value))
    if dtype is BFLOAT16:
        number: int = struct.unpack("<I", struct.pack("<f", magnitude))[0] >> 16
    else:
        as_float, as_int = _LAYOUTS[dtype.bits]
        number = struct.unpack(as_int, struct.pack(as_float, magnitude))[0]
    return -number if value < 0 else number


def _float(dtype: DType, number: int) -> float:
    """The float of such a number."""
    if dtype is BFLOAT16:
        magnitude: float = struct.unpack("<f", struct.pack("<I", abs(number) << 16))[0]
    else:
        as_float, as_int = _LAYOUTS[dtype.bits]
        magnitude = struct.unpack(as_float, struct.pack(as_int, abs(number)))[0]
    return -magnitude if number < 0 else magnitude
