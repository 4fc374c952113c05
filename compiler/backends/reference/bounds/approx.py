"""Values with a bound on how far any correct implementation may be from them."""

from dataclasses import dataclass

import numpy as np

from compiler.backends.reference.arithmetic import Array, cast
from compiler.ir import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType

INFLATE = 1 + 2.0**-30  # covers the float64 rounding of the bounds themselves
OWN_UNIT = 2.0**-53  # this evaluation's roundings, counted beside the implementation's


@dataclass(frozen=True, slots=True)
class Format:
    """A float dtype: unit roundoff, least subnormal and normal, and its upper end."""

    unit: float
    tiny: float
    normal: float
    largest: float
    overflow: float  # from here on a number rounds to infinity


FORMATS: dict[DType, Format] = {
    FLOAT16: Format(2.0**-11, 2.0**-24, 2.0**-14, 65504.0, 65520.0),
    BFLOAT16: Format(
        2.0**-8, 2.0**-133, 2.0**-126, (2 - 2.0**-7) * 2.0**127, (2 - 2.0**-8) * 2.0**127
    ),
    FLOAT32: Format(
        2.0**-24, 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127, (2 - 2.0**-24) * 2.0**127
    ),
    FLOAT64: Format(2.0**-53, 5e-324, 2.0**-1022, float(np.finfo(np.float64).max), np.inf),
}


@dataclass(frozen=True, slots=True)
class Approx:
    """An array of values (float64 for floats), their error bounds, and where a decision is open.

    A float that is correct lies in [value - error, value + error]; an infinite error says nothing
    is known. `error` is None where it is 0 everywhere: the value is then the only correct one, a
    number of its dtype. `undecided` marks values behind a comparison, rounding or cast to integer
    whose outcome depends on rounding errors; None is nowhere.
    """

    value: Array
    error: Array | None = None
    undecided: Array | None = None

    @property
    def slack(self) -> Array:
        return np.zeros((1,) * self.value.ndim) if self.error is None else self.error

    @property
    def is_exact(self) -> Array:
        """Where the error is 0."""
        return np.asarray(self.slack == 0)

    @property
    def is_open(self) -> Array:
        """Where the value is undecided."""
        if self.undecided is None:
            return np.zeros((1,) * self.value.ndim, np.bool_)
        return self.undecided


def make(value: Array, error: Array | None, undecided: Array | None) -> Approx:
    """An Approx of broadcast parts; bounds that are 0 everywhere are dropped."""
    if error is not None and not np.any(error):
        error = None
    if undecided is not None and not np.any(undecided):
        undecided = None
    return Approx(np.asarray(value), error, undecided)


def union(*flags: Array | None) -> Array | None:
    """Where any of the flags holds."""
    found: Array | None = None
    for flag in flags:
        if flag is not None:
            found = flag if found is None else found | flag
    return found


def to_native(value: Array, dtype: DType) -> Array:
    """Exact values as an array of their dtype."""
    return cast(value, FLOAT64, dtype) if dtype.is_float else value


def to_working(value: Array, dtype: DType) -> Array:
    """Values of a dtype in the form in which Approx holds them."""
    return value.astype(np.float64) if dtype.is_float else value


def settle(
    dtype: DType, value: Array, spread: Array, operands: tuple[Approx, ...], *, rounds: bool = True
) -> Approx:
    """The result of one operation: `value` before rounding, known up to `spread`.

    Counts the rounding to `dtype`, unless the spread has it, and this evaluation's own; decides
    overflow, and lets infinities and NaNs through that the operands bring with certainty.
    """
    form = FORMATS[dtype]
    size = np.abs(value)
    unit = form.unit + OWN_UNIT if rounds else OWN_UNIT
    error = (spread + unit * (size + spread) + form.tiny) * INFLATE
    if np.all(size + error <= form.largest):  # nothing overflows, and no operand is infinite
        return Approx(value, error)
    error = np.where(np.isnan(error), np.inf, error)
    over = size - error >= form.overflow
    error = np.where(over, 0.0, np.where(size + error > form.largest, np.inf, error))
    value = np.where(over & np.isfinite(value), np.copysign(np.inf, value), value)
    given_nan = np.zeros((), np.bool_)
    given_inf = np.zeros((), np.bool_)
    lost = np.zeros((), np.bool_)
    for operand in operands:
        given_nan = given_nan | (np.isnan(operand.value) & operand.is_exact)
        given_inf = given_inf | (np.isinf(operand.value) & operand.is_exact)
        lost = lost | np.isinf(operand.slack)
    error = np.where(~np.isfinite(value) & ~over, np.where(given_inf, 0.0, np.inf), error)
    error = np.where(lost, np.inf, error)
    value = np.where(given_nan, np.nan, value)
    return make(value, np.where(given_nan, 0.0, error), None)
