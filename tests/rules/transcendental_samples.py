"""Transcendental functions as tests need them: exact values, samples of arguments, an evaluator."""

import math
from functools import cache

import mpmath
import numpy as np

from compiler.backends.reference.arithmetic import apply, numpy_dtype
from compiler.ir import FLOAT32, FLOAT64, Op, intern, toposort
from compiler.rules import DECOMPOSITIONS, Builder

FUNCTIONS = tuple((op, dtype) for op in DECOMPOSITIONS for dtype in (FLOAT32, FLOAT64))


def library_power(x, y):
    """C's x ** y. NumPy takes the square root where a scalar y is 0.5, which is NaN for -inf."""
    with np.errstate(all="ignore"):
        return float(np.power(np.array([x]), np.array([y]))[0])


def exact_power(x, y):
    """x ** y; the special cases are the library's, and what is far out of range is only that."""
    if x == 0 or not mpmath.isfinite(x) or not mpmath.isfinite(y):
        return mpmath.mpf(library_power(float(x), float(y)))
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    exponent = y * mpmath.log(abs(x), 2)
    limited = max(-5000, min(5000, exponent))
    size = mpmath.power(abs(x), y) if limited == exponent else mpmath.power(2, limited)
    return -size if x < 0 and mpmath.fmod(y, 2) != 0 else size


EXACT = {
    Op.EXP2: lambda x: mpmath.power(2, x),
    Op.LOG2: lambda x: mpmath.log(x, 2),
    Op.SIN: lambda x: mpmath.sin(x) if mpmath.isfinite(x) else mpmath.nan,
    Op.COS: lambda x: mpmath.cos(x) if mpmath.isfinite(x) else mpmath.nan,
    Op.TAN: lambda x: mpmath.tan(x) if mpmath.isfinite(x) else mpmath.nan,
    Op.TANH: lambda x: mpmath.tanh(x) if abs(x) < 100 else mpmath.sign(x),
    Op.ERF: mpmath.erf,
    Op.POW: exact_power,
}
INTERESTING = {  # where a function is neither constant nor trivial: uniform samples come from here
    Op.EXP2: ((-160.0, 135.0), (-1.0, 1.0), (-1080.0, 1030.0)),
    Op.LOG2: ((0.5, 2.0), (0.99, 1.01), (0.0, 1e-38)),
    Op.SIN: ((-1.6, 1.6), (-100.0, 100.0), (-1e9, 1e9)),
    Op.COS: ((-1.6, 1.6), (-100.0, 100.0), (-1e9, 1e9)),
    Op.TAN: ((-1.6, 1.6), (-100.0, 100.0), (-1e9, 1e9)),
    Op.TANH: ((-1.0, 1.0), (-20.0, 20.0)),
    Op.ERF: ((-1.2, 1.2), (-6.5, 6.5)),
}


@cache
def decomposed(op, dtype):
    """The arguments of a decomposition, and its root."""
    count = 2 if op is Op.POW else 1
    arguments = tuple(intern(Op.ACC, dtype, (), (slot,)) for slot in range(count))
    return arguments, DECOMPOSITIONS[op](Builder(), intern(op, dtype, arguments))


def evaluate(op, dtype, *values):
    """The decomposition of `op` on arrays."""
    arguments, root = decomposed(op, dtype)
    done = dict(
        zip(arguments, (np.asarray(value, numpy_dtype(dtype)) for value in values), strict=True)
    )
    for node in toposort(root):
        if node.op is Op.CONST:
            done[node] = np.asarray(node.value, numpy_dtype(node.dtype))
        elif node not in done:
            done[node] = apply(
                node.op, node.dtype, node.src[0].dtype, *[done[child] for child in node.src]
            )
    return done[root]


def extremes(dtype):
    """Where functions break: limits, subnormals, large numbers close to multiples of pi / 2."""
    limits = np.finfo(numpy_dtype(dtype))
    positive = [
        0.0, limits.smallest_subnormal, 7 * limits.smallest_subnormal, limits.tiny / 2, limits.tiny,
        1e-20, limits.eps / 4, limits.eps, 0.25, 0.5, math.pi / 4, 1 - limits.epsneg, 1.0,
        1 + limits.eps, 1.5, math.pi / 2, 2.0, math.pi, 3.0, 4.0, 5.5, 6.0, 9.0, 19.5, 88.0,
        127.99999, 128.0, 149.5, 1023.5, 1024.0, 1074.5, 16367173.0 * 2.0**72, 1e22,
        6381956970095103.0 * 2.0**797, 1e300, limits.max, math.inf, math.nan,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        values = np.array(positive, np.float64).astype(numpy_dtype(dtype))
    return np.concatenate([values, -values])


def sample(op, dtype, count, seed):
    """`count` arguments: half of all bit patterns, half where it matters, and special ones."""
    random = np.random.default_rng(seed)
    real = numpy_dtype(dtype)
    unsigned = np.dtype(f"u{real.itemsize}")
    anywhere = random.integers(
        0, 2 ** (8 * real.itemsize) - 1, count // 2, unsigned, endpoint=True
    ).view(real)
    ranges = INTERESTING[op]
    uniform = [
        random.uniform(low, high, count // (2 * len(ranges))).astype(real) for low, high in ranges
    ]
    boundaries = (random.integers(1, 2**20, count // 10) * (math.pi / 4)).astype(real)
    return np.concatenate([extremes(dtype), anywhere, boundaries, *uniform])


def power_sample(dtype, count, seed):
    """Pairs: all of the extremes; any bits; results in range of any x and of x near 1; integers."""
    random = np.random.default_rng(seed)
    real, part = numpy_dtype(dtype), count // 4
    special = extremes(dtype)[:: 1 if count > 10_000 else 3]
    x, y = (values.ravel() for values in np.meshgrid(special, special))
    bits = random.integers(0, 2 ** (8 * real.itemsize), 4 * part, np.uint64)
    anything = bits.astype(f"u{real.itemsize}").view(real)
    limit = 155.0 if dtype is FLOAT32 else 1080.0
    with np.errstate(all="ignore"):
        bases = np.concatenate([np.abs(anything[: 2 * part]), random.uniform(0.9, 1.1, part)])
        exponents = random.uniform(-limit, limit, bases.size) / np.log2(bases)
        exponents[:part] = anything[2 * part : 3 * part]
        x = np.concatenate([x, bases, random.integers(-50, 50, part)]).astype(real)
        y = np.concatenate([y, exponents, random.integers(-200, 200, part)]).astype(real)
    return [x, y]


def arguments_of(op, dtype, count, seed):
    """The arrays of arguments of a sample."""
    return power_sample(dtype, count, seed) if op is Op.POW else [sample(op, dtype, count, seed)]


def exact_value(op, *values):
    """The correctly rounded-to-110-bits value, or NaN outside of the domain."""
    with mpmath.mp.workprec(110):
        result = EXACT[op](*[mpmath.mpf(float(value)) for value in values])
        return result if isinstance(result, mpmath.mpf) else mpmath.nan


def error_in_ulp(dtype, got, exact):
    """|got - exact| in units of the last place of `exact`; inf counts as the next power of two."""
    limits = np.finfo(numpy_dtype(dtype))
    got = float(got)
    if mpmath.isnan(exact) or math.isnan(got):
        return 0.0 if mpmath.isnan(exact) and math.isnan(got) else math.inf
    beyond = mpmath.mpf(2) ** int(limits.maxexp)
    got = mpmath.mpf(math.copysign(1.0, got)) * beyond if math.isinf(got) else mpmath.mpf(got)
    exact = max(-beyond, min(beyond, exact))
    exponent = mpmath.frexp(exact)[1] if exact else -(2**20)
    last = max(
        min(exponent, int(limits.maxexp)) - limits.nmant - 1, int(limits.minexp) - limits.nmant
    )
    return float(abs(got - exact) / mpmath.mpf(2) ** last)
