"""Angles brought to [-pi/4, pi/4]: x / (2 pi) modulo 1 as an integer, for every x of the dtype.

Source: Payne & Hanek 1983. Of 1 / (2 pi), a number m * 2**e with an integer m needs the bits from
2**-e on alone: those before count whole turns, and after enough of them the rest is too small to
matter. The product modulo one turn is integer arithmetic that wraps; its first two bits, rounded,
are the quadrant.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir import FLOAT32, INT32, INT64, UINT64
from compiler.rules.transcendental.coefficients import TURN, TURN_BITS
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.floats import (
    Pair,
    add_exactly,
    bits,
    constant,
    format_of,
    head,
    multiply,
)  # fmt: skip

_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Octant:
    """The angle quadrant * pi/2 + angle + rest, where `rest` is below the last digit of `angle`."""

    quadrant: Expr  # the signed integer of the width of the float; only its last two bits count
    angle: Expr
    rest: Expr


def octant(x: Expr) -> Octant:
    """The octant of x >= 0; any octant where x is inf or NaN."""
    found = _single(x) if x.dtype is FLOAT32 else _double(x)
    is_small = (
        x < math.pi / 4
    )  # those are exact as they are, and the bits above do not reach so far
    return Octant(
        is_small.where(found.quadrant.like(0), found.quadrant),
        is_small.where(x, found.angle),
        is_small.where(x.like(0.0), found.rest),
    )


def _single(x: Expr) -> Octant:
    """A window of 96 bits, of which the product with 24 bits leaves 64 that are right."""
    start = (bits(x) >> 23) - 118  # the bit of 1 / (2 pi) where the window starts, 32 zeros ahead
    m = _significand(x)
    words = [_bits_from(32 * i, leading_zeros=32) for i in range(7)]
    upper = _at_word(start, [m.like(word) for word in words[:5]])
    lower = _at_word(start, [m.like(word) for word in words[2:]])
    distance = (start & 31).cast(UINT64)
    window = _shifted_left(upper, lower, distance)
    below = (lower << distance) >> 32
    turn = m * window + ((m * below) >> 32)
    fraction = (turn << 2).bitcast(INT64) >> 8  # of a quadrant, as 2**56
    near, far = fraction.cast(INT32), ((fraction + (1 << 31)) >> 32).cast(INT32)
    quadrant = (((turn >> 61) + 1) >> 1).cast(INT32)
    return _in_radians(quadrant, far.cast(x.dtype) * 2.0**32, near.cast(x.dtype), 56)


def _double(x: Expr) -> Octant:
    """A window of 192 bits, of which the product with 53 bits leaves 128 that are right."""
    start = (bits(x) >> 52) - 1011  # the bit of 1 / (2 pi) where the window starts, 64 zeros ahead
    m = _significand(x)
    words = [m.like(_bits_from(64 * i, leading_zeros=64)) for i in range(20)]
    chosen = _from_word(start, words)
    distance = (start & 63).cast(UINT64)
    window = [_shifted_left(chosen[i], chosen[i + 1], distance) for i in range(3)]
    carried = _upper_product(m, window[2])
    lower = m * window[1] + carried
    carry = (lower < carried).where(m.like(1), 0)
    upper = m * window[0] + _upper_product(m, window[1]) + carry
    above = ((upper << 2) | (lower >> 62)).bitcast(INT64)  # the fraction of a quadrant, as 2**128
    below = lower << 2
    far = ((above >> 10) + 1) >> 1  # rounded: the bits below are then a signed integer
    near = (above << 53) | (below >> 11).bitcast(INT64)
    quadrant = (((upper >> 61) + 1) >> 1).bitcast(INT64)
    return _in_radians(quadrant, far.cast(x.dtype) * 2.0**64, near.cast(x.dtype), 117)


def _bits_from(start: int, leading_zeros: int) -> int:
    """64 bits from bit `start` of that many zeros and the fraction bits of 1 / (2 pi)."""
    return (TURN >> (TURN_BITS + leading_zeros - start - 64)) & _WORD


def _significand(x: Expr) -> Expr:
    """x in units of its last place."""
    layout = format_of(x)
    stored = bits(x) & ((1 << layout.stored) - 1)
    return (stored | (1 << layout.stored)).cast(UINT64)


def _at_word(start: Expr, words: Sequence[Expr]) -> Expr:
    """The one of `words` that contains bit `start`, 32 bits each."""
    *rest, chosen = words
    for index in reversed(range(len(rest))):
        chosen = (start < 32 * (index + 1)).where(rest[index], chosen)
    return chosen


def _from_word(start: Expr, words: Sequence[Expr]) -> Sequence[Expr]:
    """Four of the 20 `words` from the one that contains bit `start`, 64 bits each."""
    last = words[16:]
    for stride, kept in ((8, 11), (4, 7), (2, 5), (1, 4)):
        is_beyond = (start & (64 * stride)).differs(0)
        words = [is_beyond.where(words[i + stride], words[i]) for i in range(kept)]
    is_last = (start & (64 * 16)).differs(0)
    return [is_last.where(last[i], words[i]) for i in range(4)]


def _shifted_left(word: Expr, below: Expr, distance: Expr) -> Expr:
    """The upper word of (word, below) << distance, for a distance from 0 to 63."""
    return (word << distance) | ((below >> 1) >> (63 - distance))


def _upper_product(m: Expr, word: Expr) -> Expr:
    """The upper word of m * word, for m below 2**53."""
    m_upper, m_lower = m >> 32, m & _HALF
    upper, lower = word >> 32, word & _HALF
    middle = m_upper * lower + ((m_lower * lower) >> 32)
    other = m_lower * upper + (middle & _HALF)
    return m_upper * upper + (middle >> 32) + (other >> 32)


def _in_radians(quadrant: Expr, large: Expr, small: Expr, scale: int) -> Octant:
    """The octant of large + small, which count quadrants / 2**scale."""
    upper = head(large + small)
    pair = Pair(upper, (large - upper) + small)
    right_angle = constant(large.dtype, 1 << TURN_BITS, TURN << (scale + 2))
    return Octant(quadrant, *add_exactly(*multiply(pair, right_angle)))
