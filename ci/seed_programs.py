"""Small tensor programs: `make seeds` captures their kernels, for both targets, as the seed corpus.

To add a kind of kernel: a function, and a line in PROGRAMS.
"""

import sys
from collections.abc import Callable

import numpy as np

from compiler import CompilerError, Tensor

Make = Callable[..., Tensor]


def numbers(device: str, *shape: int, dtype: str = "float32") -> Tensor:
    """Deterministic contents; a record holds none of them."""
    count = int(np.prod(shape))
    return Tensor((np.arange(count) % 7 + 1).reshape(shape).astype(dtype), device=device)


def elementwise(device: str) -> list[Tensor]:
    found = []
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8"):
        for shape in ((7,), (64, 64), (3, 5, 17)):
            x, y = numbers(device, *shape, dtype=dtype), numbers(device, *shape, dtype=dtype)
            found += [x * y + x, x.maximum(y) - y, Tensor.where(x > y, x, y)]
    return found


def functions(device: str) -> list[Tensor]:
    x = numbers(device, 33, 16)
    return [x.exp(), x.log(), x.sin(), x.cos(), x.sqrt(), x.tanh(), x.exp2(), x.log2(), 1 / x]


def integers(device: str) -> list[Tensor]:
    found = []
    for dtype in ("int32", "uint32", "int8", "int64"):
        x, y = numbers(device, 100, dtype=dtype), numbers(device, 100, dtype=dtype)
        found += [x // y, x % y, x // 3, x % 8, x << 3, x >> 1, x & y, x ^ y, x == y]
    return found


def casts(device: str) -> list[Tensor]:
    kinds = ("float32", "float16", "float64", "int32", "uint8", "int64", "bool")
    x = {kind: numbers(device, 40, dtype=kind) for kind in kinds}
    return [x[a].astype(b) for a in kinds for b in kinds if a != b]


def reductions(device: str) -> list[Tensor]:
    found = []
    for shape in ((16, 256), (13, 17), (1, 1009), (4, 6, 8, 10)):
        x = numbers(device, *shape)
        found += [x.sum(axis=-1), x.max(axis=0), x.min(), x.mean(axis=0), x.prod(axis=-1), x.sum()]
    for dtype in ("int32", "int64", "uint8", "float16", "float64"):
        x = numbers(device, 24, 48, dtype=dtype)
        found += [x.sum(axis=1), x.max(axis=0), x.argmax(axis=1)]
    return found


def chains(device: str) -> list[Tensor]:
    x = numbers(device, 12, 96)
    return [x.softmax(axis=1), x.var(axis=1), x.std(axis=0), x.logsumexp(axis=1), x.cumsum(axis=1)]


def products(device: str) -> list[Tensor]:
    found = []
    for m, k, n in ((64, 64, 64), (128, 256, 64), (13, 17, 19), (1, 512, 256), (256, 512, 1)):
        a, b = numbers(device, m, k), numbers(device, k, n)
        found += [a @ b, (a @ b + numbers(device, n)).maximum(0)]
    return [*found, numbers(device, 4, 8, 16) @ numbers(device, 4, 16, 8)]


def movements(device: str) -> list[Tensor]:
    x = numbers(device, 6, 8, 10)
    return [
        x.transpose((2, 0, 1)) + 1,
        x[::-1, 1:-1, ::2] * 2,
        x.pad(((1, 2), (0, 1), (3, 0))) + 1,
        x.reshape((48, 10)).transpose((1, 0)) * x.reshape((10, 48)),
        x[:, None, 3] + x[2],
    ]


def windows(device: str) -> list[Tensor]:
    x, w = numbers(device, 2, 4, 12, 14), numbers(device, 8, 4, 3, 3)
    return [
        x.conv2d(w),
        x.conv2d(w, padding=1).maximum(0),
        x.conv2d(numbers(device, 8, 2, 3, 3), groups=2, stride=2),
        x.conv2d(w, dilation=2),
        x.max_pool2d((2, 2)),
        x.avg_pool2d((3, 3), stride=2),
    ]


def zeros(device: str) -> list[Tensor]:
    """What NaN, infinity and -0.0 make of x * 0.0 and x + 0.0; of 1 / x a zero shows its sign."""
    found = []
    for dtype in ("float32", "float64"):
        x = numbers(device, 401, dtype=dtype)
        found += [x * 0.0, 1 / (x + 0.0)]
    return found


def roundings(device: str) -> list[Tensor]:
    """Ties go to the even neighbour. Half of the multiples of 1/128 that are tried become ties."""
    return [(numbers(device, 43, dtype=dtype) * 64).round() for dtype in ("float32", "float64")]


def narrowings(device: str) -> list[Tensor]:
    """There and back through fewer bits, as quantized models store what they compute."""
    wide, wider = numbers(device, 47, dtype="int32"), numbers(device, 47, dtype="int64")
    return [
        wide.astype("int8").astype("int32"),
        wide.astype("uint16").astype("int64"),
        wider.astype("uint8").astype("int32") + wider.astype("int32"),
    ]


def opposites(device: str) -> list[Tensor]:
    """A choice by what does not hold, as in masks of attention."""
    x, y, mask = numbers(device, 53), numbers(device, 53), numbers(device, 53, dtype="bool")
    return [Tensor.where(~mask, x, y), Tensor.where(~mask, x * 2, 0.0)]


def positions(device: str) -> list[Tensor]:
    """Blocks and places in blocks of positions, of sizes that no vector fills."""
    row, column = (Tensor.arange(size, device=device) for size in (11, 13))
    x = numbers(device, 59, dtype="uint8")
    return [
        x % 9 // 8,
        Tensor.arange(17, device=device) // 16,
        (row * 4 + 3) % 12,
        (row[:, None] * 8 + column[None, :]) // 8,
        (row[:, None] * 8 + column[None, :]) % 8,
        (x.astype("int32") - 30) // 7,
        (x.astype("int32") - 30) % 7,
    ]


PROGRAMS = (
    *(elementwise, functions, integers, casts, reductions),
    *(chains, products, movements, windows),
    *(zeros, roundings, narrowings, opposites, positions),
)


def main() -> int:
    """Run every program on the devices named on the command line."""
    for device in sys.argv[1:]:
        for program in PROGRAMS:
            for tensor in program(device):
                try:
                    tensor.realize()
                except CompilerError as error:
                    print(f"{program.__name__} on {device}: {error}", file=sys.stderr)
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
