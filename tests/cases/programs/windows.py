"""Lookups, convolutions and pools."""

import numpy as np

from tests.cases.programs.case import Case

# --- rows that were not asked for -----------------------------------------------------------------


def tables():
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    table[1, 0], table[2, 1], table[4, 0] = np.inf, -np.inf, np.nan
    return {
        "table": table,
        "rows": np.array([3, 0, 2, 1, 4, 0], np.int32),
        "big": (7 * np.arange(300) + 1).astype(np.int32),
        "small": np.array([0, 3, 43, 44, 127, 128, 255], np.uint8),
        "back": np.array([-1, -5, 0, 4], np.int32),
        "base": np.array([1, 2, 3, 4], np.int32),
    }


def lookups(table, rows, big, small, back, base):
    base[[0, 2, 2]] = np.array([9, 8, 0], np.int32)
    return table[rows], big[small], table[back][:, 2], base


LOOKUPS = Case(
    "09 lookups",
    tables,
    lookups,
    lambda table, rows, big, small, back, base: (
        table[rows],
        big[small],
        table[back][:, 2],
        np.array([9, 2, 0, 4], np.int32),
    ),
)


# --- convolutions and pools -----------------------------------------------------------------------


def images():
    random = np.random.default_rng(11)

    def whole(*shape):
        return random.integers(-3, 4, shape).astype(np.float32)

    one = np.zeros((1, 4, 1, 1), np.float32)
    one[0, 3] = 1
    return {
        "c": whole(2, 4, 7, 9),
        "k": whole(6, 2, 3, 2),
        "one": one,
        "ones": np.ones((16, 2, 1, 1), np.float32),
        "p": random.integers(-99, -9, (1, 2, 5, 6)).astype(np.int32),
        "v": whole(1, 1, 8, 8),
        "each": whole(4, 1, 3, 3),
    }


def window_programs(c, k, one, ones, p, v, each):
    return (
        c.conv(k, groups=2, stride=(2, 1), dilation=(1, 3), padding=((1, 0), (2, 1))),
        one.conv(ones, groups=2),
        p.max_pool(2, stride=2, padding=1),
        v.avg_pool(3, stride=2, dilation=2),
        c.conv(each, groups=4, stride=2, padding=1),
    )


def taps(x, kernel, stride, dilation=(1, 1)):
    """x seen through windows: (n, c, *places, *kernel)."""
    reach = [(size - 1) * gap + 1 for size, gap in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def grouped(x, weight, groups, stride, padding, dilation=(1, 1)):
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    parts = zip(np.split(x, groups, 1), np.split(weight, groups), strict=True)
    return np.concatenate(
        [
            np.einsum("nchwab,ocab->nohw", taps(part, weight.shape[2:], stride, dilation), w)
            for part, w in parts
        ],
        1,
    )


def window_answers(c, k, one, ones, p, v, each):
    around = ((0, 0), (0, 0), (1, 1), (1, 1))
    padded = np.pad(p, around, constant_values=np.iinfo(np.int32).min)
    return (
        grouped(c, k, 2, (2, 1), ((1, 0), (2, 1)), (1, 3)),
        grouped(one, ones, 2, (1, 1), ((0, 0), (0, 0))),
        taps(padded, (2, 2), (2, 2)).max((4, 5)),
        taps(v, (3, 3), (2, 2), (2, 2)).mean((4, 5)),
        grouped(c, each, 4, (2, 2), ((1, 1), (1, 1))),
    )


WINDOWS = Case("18 windows", images, window_programs, window_answers, rtol=1e-6, atol=1e-6)

CASES = (LOOKUPS, WINDOWS)
