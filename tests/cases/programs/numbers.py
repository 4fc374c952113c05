"""Division, casts, halves and constants that are hard to write."""

import numpy as np

from compiler import Tensor
from tests.cases.programs.case import Case

# --- signed division ------------------------------------------------------------------------------

DIVISORS = (2, 4, 8, 3, -4)


def numerators():
    edge = [-(2**31), -(2**31) + 1, 2**31 - 1]
    return {
        "a": np.array([*range(-17, 18), *edge], np.int32),
        "d": np.array(DIVISORS, np.int32)[:, None],
    }


def divisions(a, d):
    """By constants one at a time, then by data all at once: four results each way."""
    by_constant = [
        Tensor.stack([function(a, k) for k in DIVISORS])
        for function in (
            Tensor.truncated_divide,
            Tensor.fmod,
            Tensor.floor_divide,
            Tensor.remainder,
        )
    ]
    by_data = [a.truncated_divide(d), a.fmod(d), a // d, a % d]
    return [*by_constant, *by_data]


def numpy_divisions(a, d):
    wide, by = a.astype(np.int64), d.astype(np.int64)
    rest = np.sign(wide) * (abs(wide) % abs(by))
    floor = wide // by
    rows = [x.astype(np.int32) for x in ((wide - rest) // by, rest, floor, wide - floor * by)]
    return [*rows, *rows]


SIGNED_DIVISION = Case("02 signed division", numerators, divisions, numpy_divisions, constants=True)


# --- casts ----------------------------------------------------------------------------------------


def cast_inputs():
    return {
        "f": np.array([-1.75, -0.25, 0.25, 1.99, 300.5, 127.9, -128.9, 0.0], np.float32),
        "g": np.array([np.nan, 0.1, -0.0], np.float32),
        "u": np.array([0, 200, 3000000019, 0xFFFFFFFF], np.uint32),
        "s": np.array([-(2**31), -1, 2000000000, 2**31 - 1], np.int32),
        "b": np.array([True, False, True]),
        "t": np.array([0, 1, 128, 255], np.uint8),
    }


def casts(f, g, u, s, b, t):
    whole, product = f.astype("int32"), u * 2654435761
    return (
        whole,
        whole.astype("uint8"),
        whole.astype("int8"),
        f.astype("bool"),
        g.astype("bool"),
        product,
        s + s,
        -t,
        t - 200,
        u.astype("float32"),
        u.astype("int64"),
        u.astype("uint8").astype("int8").astype("int64"),
        b.astype("float32") + b.astype("float32"),
        b.astype("int32").sum(dtype="int32"),
        product // 11,
    )


def numpy_casts(f, g, u, s, b, t):
    whole = np.trunc(f).astype(np.int32)
    product = (u.astype(np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    return (
        whole,
        (whole % 256).astype(np.uint8),
        ((whole + 128) % 256 - 128).astype(np.int8),
        f != 0,
        g != 0,
        product,
        ((2 * s.astype(np.int64) + 2**31) % 2**32 - 2**31).astype(np.int32),
        (-t.astype(int) % 256).astype(np.uint8),
        ((t.astype(int) - 200) % 256).astype(np.uint8),
        u.astype(float).astype(np.float32),
        u.astype(np.int64),
        (u.astype(np.int64) % 256 + 128) % 256 - 128,
        2 * b.astype(np.float32),
        np.int32(2),
        product // 11,
    )


CASTS = Case("06 casts and wraparound", cast_inputs, casts, numpy_casts, constants=True)


# --- halves without half arithmetic ---------------------------------------------------------------


def half_inputs():
    return {
        "a": np.array([1, 2, 0.5, 300, 65504, -3, 0.0999, 1000], np.float16),
        "b": np.array([3, 0.25, 0.5, 300, 1, 7, 0.0999, 0.001], np.float16),
        "s": np.array([2.0**-24], np.float16),
    }


def half_answers(a, b, s):
    with np.errstate(over="ignore"):
        return (
            a * b,
            a * b + np.float16(0.1),
            a.astype(np.float32) * 2,
            a > b,
            np.where(a > b, a, np.float16(65504)),
            np.trunc(a),
            s,
        )


HALVES = Case(
    "36 half arithmetic",
    half_inputs,
    lambda a, b, s: (
        a * b,
        a * b + 0.1,
        a.astype("float32") * 2,
        a > b,
        Tensor.where(a > b, a, 65504),
        a.astype("int32").astype("float16"),
        s * 1,
    ),
    half_answers,
    schedules=("upcast",),
)


# --- integers at their limits, as constants -------------------------------------------------------


def limit_inputs():
    least, most = -(2**31), 2**31 - 1
    return {
        "x": np.array([-5, -7, least, least + 1, 0, 3, most, -9], np.int32),
        "y": np.array([-1, -(2**63), 5, -3], np.int64),
        "u": np.array([1, 2**31 - 1, 2**31, 2**31 + 1], np.uint32),
        "v": np.array([0, 2**63, 2**63 + 1, 2**64 - 1], np.uint64),
        "t": np.array([-128, -1, 0, 127], np.int8),
    }


def limits(x, y, u, v, t):
    least, most = (
        Tensor.full((), -(2**31), dtype="int32"),
        Tensor.full((), 2**31 - 1, dtype="int32"),
    )
    return (
        x.max(),
        Tensor.where(x > 0, least.to(x.device), most.to(x.device)),
        x.maximum(-(2**31)),
        u > 2**31,
        Tensor.where(y < 0, -(2**63), y),
        y.max(),
        v.minimum(2**64 - 1),
        t.maximum(-128),
        x ^ -(2**31),
        Tensor.where(v > 2**63, v, 0),
        (v ^ 2**64 - 1) == 2**64 - 1,
        v + 1 == 0,
        (y ^ -1) == -1 - y,
    )


def numpy_limits(x, y, u, v, t):
    least, most = np.int32(-(2**31)), np.int32(2**31 - 1)
    return (
        most,
        np.where(x > 0, least, most),
        x,
        np.array([False, False, False, True]),
        np.array([-(2**63), -(2**63), 5, -(2**63)]),
        np.int64(5),
        v,
        t,
        x ^ least,
        np.array([0, 0, 2**63 + 1, 2**64 - 1], np.uint64),
        np.array([True, False, False, False]),
        np.array([False, False, False, True]),
        np.ones(4, bool),
    )


INTEGER_LITERALS = Case(
    "37 integer literals", limit_inputs, limits, numpy_limits, schedules=("upcast",)
)


# --- floats that are hard to print ----------------------------------------------------------------


def float_inputs():
    return {
        "x": np.array([1, -1, 0, np.nan], np.float32),
        "k": np.array([-5, -7, -3, -11, -4], np.int32),
        "c": np.array([3, 2, 0, 1], np.uint8),
        "d": np.array([0.2, 1.5]),
    }


def floats(x, k, c, d):
    return (
        Tensor.where(x > 0, Tensor.full((), np.inf, dtype="float32", device=x.device), -np.inf),
        Tensor.where(x > 0, np.nan, x),
        k.max(),
        c.max(),
        k.min(),
        d + 0.1,
        x[:3] * 0 + 3.4028235e38,
        x[:3] * 1.17549435e-38,
        Tensor.full((), 16777217.0, dtype="float32", device=x.device),
        d * 1e308,
        Tensor.where(x < 0, 0.1, x),
        k.prod(dtype="int32"),
    )


def numpy_floats(x, k, c, d):
    f = np.float32
    with np.errstate(over="ignore"):
        return (
            np.where(x > 0, f(np.inf), f(-np.inf)),
            np.where(x > 0, f(np.nan), x),
            k.max(),
            c.max(),
            k.min(),
            d + 0.1,
            np.full(3, 3.4028235e38, f),
            x[:3] * f(1.17549435e-38),
            f(16777216.0),
            d * 1e308,
            np.where(x < 0, f(0.1), x),
            k.prod(dtype=np.int32),
        )


FLOAT_LITERALS = Case("38 float literals", float_inputs, floats, numpy_floats)

CASES = (SIGNED_DIVISION, CASTS, HALVES, INTEGER_LITERALS, FLOAT_LITERALS)
