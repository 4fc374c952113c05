"""Random numbers by counting: the n-th number of a seed depends on the seed and n alone.

The generator is Threefry-2x32 with 20 rounds: integer additions, rotations and XORs of a counter,
so that a seed gives the same bits on every backend, in any order, on any number of threads.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from collections.abc import Sequence
from math import prod

from compiler.backends import find_backend
from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions.elementwise import add, multiply
from compiler.frontend.functions.normal import normal
from compiler.frontend.functions.ordering import argsort
from compiler.frontend.graph import Value
from compiler.frontend.shapes import as_int, as_number, as_shape
from compiler.frontend.symbolic import largest
from compiler.ir import FLOAT32, FLOAT64, INT64, UINT32, UINT64, DType, Op

Sizes = int | Sequence[int]
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 20


def threefry(key: tuple[int, int], high: Value, low: Value) -> tuple[Value, Value]:
    """Two words of 32 random bits for each counter (high, low), all uint32."""
    keys = [*key, key[0] ^ key[1] ^ _PARITY]
    a, b = _plus(high, keys[0]), _plus(low, keys[1])
    for number in range(_ROUNDS):
        a = graph.elementwise(Op.ADD, a, b)
        b = graph.elementwise(Op.XOR, _rotated(b, _ROTATIONS[number % 8]), a)
        if number % 4 == 3:
            turn = number // 4 + 1
            a, b = _plus(a, keys[turn % 3]), _plus(b, keys[(turn + 1) % 3] + turn)
    return a, b


def _plus(x: Value, number: int) -> Value:
    return graph.elementwise(Op.ADD, x, graph.full(number & 0xFFFFFFFF, x.dtype, x.shape, x.device))


def _rotated(x: Value, count: int) -> Value:
    left, right = [graph.full(n, x.dtype, x.shape, x.device) for n in (count, 32 - count)]
    high, low = graph.elementwise(Op.SHL, x, left), graph.elementwise(Op.SHR, x, right)
    return graph.elementwise(Op.OR, high, low)


def _words(seed: int, shape: Sizes, device: str, stream: int) -> tuple[Value, Value]:
    """Two words for each element. Streams of one seed share no counter."""
    whole = as_shape(shape)
    if largest(prod(whole)) > 2**31 - 1:
        raise ShapeError(f"random numbers of shape {whole}: 2**31 or more, draw them in parts")
    number = as_int(seed, "seed") & 0xFFFFFFFFFFFFFFFF
    name = find_backend(device).name
    counter = graph.cast(graph.count(whole, dtypes.as_dtype("int32"), name), UINT32)
    high = graph.full(stream, UINT32, whole, name)
    return threefry((number & 0xFFFFFFFF, number >> 32), high, counter)


def bits(shape: Sizes, *, seed: int, device: str = "llvm") -> Value:
    """64 random bits each, as uint64."""
    high, low = [graph.cast(word, UINT64) for word in _words(seed, shape, device, 0)]
    shift = graph.full(32, UINT64, high.shape, high.device)
    return graph.elementwise(Op.OR, graph.elementwise(Op.SHL, high, shift), low)


def rand(shape: Sizes, *, seed: int, dtype: DTypeLike = FLOAT32, device: str = "llvm") -> Value:
    """Uniform floats from 0 up to but not 1: multiples of 2**-24, of 2**-53 in float64."""
    return _unit(shape, seed, _float(dtype), device, 0)


def _float(dtype: DTypeLike) -> DType:
    found = dtypes.as_dtype(dtype)
    if not found.is_float:
        raise DTypeError(f"random numbers of {found}: use a float, or randint")
    return found


def _unit(shape: Sizes, seed: int, dtype: DType, device: str, stream: int) -> Value:
    high, low = _words(seed, shape, device, stream)
    if dtype is FLOAT64:
        return _fraction(high, low)
    digits = 24 if dtype is FLOAT32 else 11 if dtype.name == "float16" else 8
    shift = graph.full(32 - digits, UINT32, high.shape, high.device)
    whole = graph.cast(graph.elementwise(Op.SHR, high, shift), dtype)
    return multiply(whole, 2.0**-digits)


def _fraction(high: Value, low: Value) -> Value:
    wide = [graph.cast(word, INT64) for word in (high, low)]
    top = graph.elementwise(Op.SHL, wide[0], graph.full(21, INT64, high.shape, high.device))
    rest = graph.elementwise(Op.SHR, wide[1], graph.full(11, INT64, high.shape, high.device))
    whole = graph.elementwise(Op.OR, top, rest)
    return multiply(graph.cast(whole, FLOAT64), 2.0**-53)


def uniform(
    shape: Sizes,
    low: float = 0.0,
    high: float = 1.0,
    *,
    seed: int,
    dtype: DTypeLike = FLOAT32,
    device: str = "llvm",
) -> Value:
    """Uniform floats from low to high."""
    start, stop = as_number(low, "low"), as_number(high, "high")
    unit = rand(shape, seed=seed, dtype=dtype, device=device)
    return add(multiply(unit, stop - start), start)


def randn(shape: Sizes, *, seed: int, dtype: DTypeLike = FLOAT32, device: str = "llvm") -> Value:
    """Normal numbers of mean 0 and variance 1."""
    found = _float(dtype)
    wide = dtypes.accumulator(found)
    uniforms = [_unit(shape, seed, wide, device, stream) for stream in (1, 2)]
    return graph.cast(normal(*uniforms), found)


def randint(
    shape: Sizes,
    low: int,
    high: int,
    *,
    seed: int,
    dtype: DTypeLike = INT64,
    device: str = "llvm",
) -> Value:
    """Integers from low up to but not high, each as likely as 2**64 numbers allow."""
    found = dtypes.as_dtype(dtype)
    start, stop = as_int(low, "low"), as_int(high, "high")
    span = stop - start
    if not found.is_int or span < 1 or start < found.lowest or stop - 1 > found.highest:
        raise ShapeError(f"integers from {start} to {stop} of {found}: there are none in range")
    drawn = bits(shape, seed=seed, device=device)
    limit = graph.full(span, UINT64, drawn.shape, drawn.device)
    within = drawn if span == 2**64 else graph.elementwise(Op.MOD, drawn, limit)
    return add(graph.cast(within, found), start)  # both wrap: the sum is in range


def permutation(count: int, *, seed: int, device: str = "llvm") -> Value:
    """0 to count - 1 in random order."""
    return argsort(bits((count,), seed=seed, device=device))
