"""Reductions: identities, limits of integers, halves, dependent passes, long and empty axes."""

import numpy as np

from compiler import Tensor
from tests.cases.programs.case import Case

PADDED = ("pad", "pad upcast", "pad unroll", "pad group", "pad grouptop")


# --- a padded lane must not show ------------------------------------------------------------------


def negative_grid():
    i, j = np.indices((17, 13))
    x = -(1 + (7 * i + 5 * j) % 23 / 8).astype(np.float32)
    sign = np.where((i + j) % 3 == 0, -1, 1)
    return {
        "x": x,
        "whole": (8 * x).astype(np.int32),
        "powers": np.ascontiguousarray((sign * 2.0 ** ((5 * i + j) % 3 - 1)).astype(np.float32).T),
    }


PADDED_IDENTITY = Case(
    "01 padded reduce identity",
    negative_grid,
    lambda x, whole, powers: (
        x.max(1),
        x.max(),
        whole.max(0),
        (1 / x).sum(1),
        powers.prod(0),
        (-x).min(0),
    ),
    lambda x, whole, powers: (
        x.max(1),
        x.max(),
        whole.max(0),
        (1 / x.astype(float)).sum(1).astype(np.float32),
        powers.astype(float).prod(0).astype(np.float32),
        (-x).min(0),
    ),
    rtol=1e-6,
    schedules=PADDED,
)


# --- the ends of every integer kind ---------------------------------------------------------------

KINDS = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8")


def integer_limits():
    found = {"b": np.array([True, False, True, True, False, True])}
    for kind in KINDS:
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        found[kind] = np.array([most // 2, least, most, least, most, most // 3], kind)
    return found


def extremes(**vectors):
    results = []
    for x in vectors.values():
        rows = x.reshape(2, 3)
        results.append(Tensor.stack([x.min(), x.max()]))
        results.append(Tensor.stack([x.argmin(), x.argmax()]).astype("int32"))
        results.append(Tensor.concat([rows.min(1, keepdims=True), rows.max(1, keepdims=True)], 1))
    return results


def numpy_extremes(**vectors):
    results = []
    for x in vectors.values():
        rows = x.reshape(2, 3)
        results.append(np.array([x.min(), x.max()], x.dtype))
        results.append(np.array([x.argmin(), x.argmax()], np.int32))
        results.append(np.stack([rows.min(1), rows.max(1)], 1))
    return results


INTEGER_EXTREMES = Case("05 integer extremes", integer_limits, extremes, numpy_extremes)


# --- halves are summed wider ----------------------------------------------------------------------


def halves():
    k = np.arange(300)
    return {
        "big": np.full((256, 256), 60000, np.float16),
        "ones": np.ones(4096, np.float16),
        "threes": np.full((1, 14, 2000), 3, np.float16),
        "tiny": np.full(512, 6.1035e-05, np.float16),
        "p": (k % 7 * 8).astype(np.float16),
        "q": (k % 5 - 1).astype(np.float16),
    }


def half_answers(big, ones, threes, tiny, p, q):
    wide = [x.astype(float) for x in (big, ones, threes, tiny, p, q)]
    exact = (
        wide[0].mean(),
        wide[1].sum(),
        wide[2].sum(2),
        wide[3].mean(),
        wide[4] @ wide[5],
        wide[0].mean(0),
    )
    return [np.asarray(x).astype(np.float16) for x in exact]


HALF_SUMS = Case(
    "10 half accumulation",
    halves,
    lambda big, ones, threes, tiny, p, q: (
        big.mean(),
        ones.sum(),
        threes.sum(2),
        tiny.mean(),
        p @ q,
        big.mean(0),
    ),
    half_answers,
    rtol=1e-3,
    schedules=("group", "unroll"),
)


# --- two passes over one axis ---------------------------------------------------------------------


def awkward_rows():
    random = np.random.default_rng(7)
    z = random.normal(size=(5, 257)).astype(np.float32)
    z[1] = 1e4
    z[2, 100] = -np.inf
    z[3] -= 3e4
    z[4] = -np.inf
    noise = random.normal(size=(6, 1000))
    return {
        "z": z,
        "k": np.array(-1.7e14, np.float32),
        "w": (100 + 0.1 * noise).astype(np.float32),
        "m": random.normal(size=(4, 3, 5, 7)).astype(np.float32),
    }


def numpy_softmax(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).astype(np.float32)


def pass_answers(z, k, w, m):
    d, v = z.astype(float), w.astype(float)
    top = d[:4].max(1, keepdims=True)
    centred = v - v.mean(1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    exact = (
        top[:, 0] + np.log(np.exp(d[:4] - top).sum(1)),
        v.var(1, ddof=1),
        normal,
        m.astype(float).std((1, 3)),
    )
    return [
        numpy_softmax(d),
        numpy_softmax(d[:1] * float(k)),
        *[x.astype(np.float32) for x in exact],
    ]


TWO_PASSES = Case(
    "14 dependent reductions",
    awkward_rows,
    lambda z, k, w, m: (
        z.softmax(1),
        (z[:1] * k).softmax(1),
        z[:4].logsumexp(1),
        w.var(1, correction=1),
        w.layer_norm(1),
        m.std((1, 3)),
    ),
    pass_answers,
    # A variance by one pass is off by tens of percent here; a softmax is about 1 / 257.
    of_outputs=((2e-5, 1e-9), (1e-6, 1e-9), (1e-6, 1e-5), (2e-3, 0), (1e-3, 5e-3), (1e-5, 1e-6)),
)


# --- primes and bools -----------------------------------------------------------------------------


def primes():
    random = np.random.default_rng(3)
    return {
        "a": random.integers(-50, 50, 1009).astype(np.int32),
        "p": random.integers(-30000, 30000, 65537).astype(np.int32),
        "g": (random.integers(-8, 8, (3, 257, 2)) / 4).astype(np.float32),
        "b": np.arange(505).reshape(5, 101) * 7 % 11 < 6,
    }


def scans(a, p, g, b):
    counts = b.astype("int32")
    return (
        a.cumsum(dtype="int32"),
        *[a[:n].cumsum(dtype="int32") for n in (255, 256, 257)],
        p.sum(dtype="int32"),
        p.max(),
        g.cumsum(1),
        counts.sum(1, dtype="int32"),
        counts.cumsum(1, dtype="int32"),
        b.any(1),
        b.all(0),
        b & ~b[:, ::-1],
        b.astype("float32").mean(),
        b[:, :5].triu(),
    )


def numpy_scans(a, p, g, b):
    counts = b.astype(np.int32)
    return (
        a.cumsum(dtype=np.int32),
        *[a[:n].cumsum(dtype=np.int32) for n in (255, 256, 257)],
        p.sum(dtype=np.int32),
        p.max(),
        g.cumsum(1),
        counts.sum(1, dtype=np.int32),
        counts.cumsum(1, dtype=np.int32),
        b.any(1),
        b.all(0),
        b & ~b[:, ::-1],
        np.float32(b.mean()),
        np.triu(b[:, :5]),
    )


PRIME_LENGTHS = Case("15 primes and bools", primes, scans, numpy_scans, rtol=1e-5)


# --- nothing and one ------------------------------------------------------------------------------


def empty_and_unit():
    return {
        "e": np.zeros((2, 0, 4), np.float32),
        "u": np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1),
        "left": np.zeros((3, 0), np.float32),
        "right": np.zeros((0, 4), np.float32),
        "h": np.array([4, 5, 6], np.int32),
    }


EMPTY_AXES = Case(
    "16 empty and unit axes",
    empty_and_unit,
    lambda e, u, left, right, h: (
        e.sum(1),
        e.prod(1),
        e.mean(1),
        e.cumsum(1),
        left @ right,
        e.pad(((0, 0), (1, 2), (0, 0))),
        Tensor.concat([h, h[0:0], h]),
        (u * 2).sum((0, 1, 3)),
        e.reshape(0),
        u.transpose(3, 2, 1, 0),
        u.expand(1, 3, 5, 1).sum(1),
        e.sum(),
    ),
    lambda e, u, left, right, h: (
        e.sum(1),
        e.prod(1),
        np.full((2, 4), np.nan, np.float32),
        e.cumsum(1),
        left @ right,
        np.zeros((2, 3, 4), np.float32),
        np.concatenate([h, h]),
        (u * 2).sum((0, 1, 3)),
        e.reshape(0),
        u.transpose(3, 2, 1, 0),
        3 * u[:, 0],
        np.float32(0),
    ),
)

CASES = (
    PADDED_IDENTITY,
    INTEGER_EXTREMES,
    HALF_SUMS,
    TWO_PASSES,
    PRIME_LENGTHS,
    EMPTY_AXES,
)
