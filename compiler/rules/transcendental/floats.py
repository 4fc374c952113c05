"""What the decompositions share: the layout of floats, exact sums and products, powers of two."""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir import FLOAT32, FLOAT64, INT32, INT64, DType
from compiler.rules.transcendental.expression import Expr


@dataclass(frozen=True, slots=True)
class Format:
    """The layout of an IEEE float dtype; `signed` is the integer dtype of its width."""

    signed: DType
    digits: int  # of the significand, the hidden one included
    bias: int
    struct_codes: tuple[str, str]  # of the float and of the integer

    @property
    def stored(self) -> int:
        """Bits of the significand that are stored: the exponent begins above them."""
        return self.digits - 1

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def head_mask(self) -> int:
        """Keeps the upper half of the digits, at most: the product of two such numbers is exact."""
        return -1 << (self.digits - self.digits // 2)

    def bits(self, value: float) -> int:
        """The bits of a constant, as the signed integer."""
        real, integer = self.struct_codes
        return int(struct.unpack(integer, struct.pack(real, value))[0])

    def value(self, bits: int) -> float:
        """The constant with these bits."""
        real, integer = self.struct_codes
        return float(struct.unpack(real, struct.pack(integer, bits))[0])


FORMATS: Mapping[DType, Format] = {
    FLOAT32: Format(INT32, 24, 127, ("<f", "<i")),
    FLOAT64: Format(INT64, 53, 1023, ("<d", "<q")),
}


def format_of(x: Expr) -> Format:
    """The layout of a float32 or float64 expression."""
    return FORMATS[x.dtype]


def bits(x: Expr) -> Expr:
    """The bits of a float, as a signed integer."""
    return x.bitcast(format_of(x).signed)


def magnitude(x: Expr) -> Expr:
    """|x|."""
    return (bits(x) & int(format_of(x).signed.highest)).bitcast(x.dtype)


def sign_bit(x: Expr) -> Expr:
    """The lowest integer where x is negative or -0.0, else 0."""
    return bits(x) & int(format_of(x).signed.lowest)


def flip_sign(x: Expr, sign: Expr) -> Expr:
    """-x where `sign` is the lowest integer, x where it is 0."""
    return (bits(x) ^ sign).bitcast(x.dtype)


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """The sum of coefficients[i] * x**i, by Horner's rule."""
    *rest, last = coefficients
    total = x * last + rest.pop()
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


def fused_polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """The same, each step rounded once: half the operations where the CPU has it."""
    *rest, last = coefficients
    total = x.times_plus(last, rest.pop())
    for coefficient in reversed(rest):
        total = total.times_plus(x, coefficient)
    return total


# numbers of more digits than the dtype has


def head(x: Expr) -> Expr:
    """x without the lower half of its digits, so that the product of two heads is exact."""
    return (bits(x) & format_of(x).head_mask).bitcast(x.dtype)


@dataclass(frozen=True, slots=True)
class Pair:
    """The number head + tail, of half as many digits again; `head` has half of them."""

    head: Expr
    tail: Expr


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as a head and the rest."""

    head: float
    tail: float


def constant(dtype: DType, numerator: int, denominator: int) -> Constant:
    """A rational number as a constant of half as many digits again as `dtype` has."""
    layout = FORMATS[dtype]
    upper = layout.value(layout.bits(numerator / denominator) & layout.head_mask)
    top, bottom = upper.as_integer_ratio()
    return Constant(upper, (numerator * bottom - top * denominator) / (denominator * bottom))


def multiply(a: Pair, b: "Pair | Constant") -> tuple[Expr, Expr]:
    """a * b as a large part, which is exact, and a small one (Dekker 1971)."""
    return a.head * b.head, a.head * b.tail + a.tail * (b.head + b.tail)


def split(large: Expr, small: Expr) -> Pair:
    """large + small as a pair."""
    upper = head(large + small)
    return Pair(upper, small - (upper - large))


def add_exactly(large: Expr, small: Expr) -> tuple[Expr, Expr]:
    """The rounded sum and its error, where |large| >= |small| or large is 0 (Dekker 1971)."""
    total = large + small
    return total, small - (total - large)


# powers of two


@dataclass(frozen=True, slots=True)
class Nearest:
    """An integer as a float; plus `bias` it is also the lowest digits of the integer `shifted`."""

    value: Expr
    shifted: Expr
    bias: int


def nearest(x: Expr, less: int = 0) -> Nearest:
    """The integer nearest to x, for |x| < 2**(digits - 3); `power_of_two` of it is 2**-less more.

    One half is rounded either way: up or down, as comes out.
    """
    bias = format_of(x).bias - less
    large = _large(x) + bias  # the last digit of a number near `large` counts ones
    shifted = x + large
    return Nearest(shifted - large, bits(shifted), bias)


def _large(x: Expr) -> float:
    return 1.5 * 2.0 ** format_of(x).stored


def power_of_two(n: Nearest) -> Expr:
    """2**(n - less), where that is a normal number: its exponent is what `nearest` counted."""
    return (n.shifted << format_of(n.value).stored).bitcast(n.value.dtype)


def scale(x: Expr, n: Nearest) -> Expr:
    """x * 2**n rounded once, for 1/2 <= x <= 2; half of n is the exponent of a normal number."""
    layout = format_of(x)
    integer = n.shifted - layout.bits(_large(x) + n.bias)
    half = integer >> 1
    for part in (half, integer - half):
        x *= ((part << layout.stored) + layout.bits(1.0)).bitcast(x.dtype)
    return x


def split_exponent(x: Expr) -> tuple[Expr, Expr]:
    """The float e and the m in [sqrt 1/2, sqrt 2) with x = 2**e * m, for finite x > 0."""
    layout = format_of(x)
    is_subnormal = x < layout.least_normal
    normal = is_subnormal.where(x * 2.0**layout.digits, x)
    least = layout.bits(math.sqrt(0.5))
    exponent = (bits(normal) - least) >> layout.stored
    fraction = (bits(normal) - (exponent << layout.stored)).bitcast(x.dtype)
    return (exponent + is_subnormal.where(exponent.like(-layout.digits), 0)).cast(x.dtype), fraction
