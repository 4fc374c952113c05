"""Transcendental functions: error against mpmath, special values, size, and what they are made of.

Every run draws its own sample; a failure prints the seed, the argument and both values.
"""

import math
import secrets
from functools import cache

import mpmath
import numpy as np
import pytest

from compiler.backends.reference.arithmetic import apply, numpy_dtype
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Op,
    bounds,
    intern,
    toposort,
    why_malformed,
)  # fmt: skip
from compiler.rules import Builder
from compiler.rules.transcendental import DECOMPOSITIONS, MAX_ULP

SEED = secrets.randbits(32)
OPS = tuple(DECOMPOSITIONS)
DTYPES = (FLOAT32, FLOAT64)
IEEE_OPS = frozenset((
    *(Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.SQRT, Op.NEG, Op.RINT, Op.CONST, Op.CAST, Op.BITCAST),
    *(Op.LT, Op.LE, Op.EQ, Op.NE, Op.WHERE, Op.AND, Op.OR, Op.XOR, Op.NOT, Op.SHL, Op.SHR),
))  # fmt: skip
MAX_NODES = {  # constants not counted
    (Op.EXP2, FLOAT32): 32,
    (Op.EXP2, FLOAT64): 44,
    (Op.LOG2, FLOAT32): 49,
    (Op.LOG2, FLOAT64): 57,
    (Op.SIN, FLOAT32): 104,
    (Op.SIN, FLOAT64): 189,
    (Op.COS, FLOAT32): 101,
    (Op.COS, FLOAT64): 186,
    (Op.TAN, FLOAT32): 116,
    (Op.TAN, FLOAT64): 205,
    (Op.TANH, FLOAT32): 54,
    (Op.TANH, FLOAT64): 80,
    (Op.ERF, FLOAT32): 61,
    (Op.ERF, FLOAT64): 105,
    (Op.POW, FLOAT32): 159,
    (Op.POW, FLOAT64): 181,
}


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
SINGLE_LIBRARY = {
    Op.EXP2: np.exp2,
    Op.LOG2: np.log2,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.TANH: np.tanh,
    Op.ERF: np.vectorize(math.erf, otypes=[np.float64]),
    Op.POW: np.power,
}
each_function = pytest.mark.parametrize(
    ("op", "dtype"), [(op, dtype) for op in OPS for dtype in DTYPES], ids=lambda value: str(value)
)


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


@each_function
def test_the_error_against_mpmath_is_within_the_stated_bound(op, dtype):
    arguments = arguments_of(op, dtype, 5000 if dtype is FLOAT64 else 3000, SEED)
    got = evaluate(op, dtype, *arguments)
    for result, *values in zip(got, *arguments, strict=True):
        exact = exact_value(op, *values)
        error = error_in_ulp(dtype, result, exact)
        assert error <= MAX_ULP[op, dtype], (
            f"seed {SEED}: {op.name}{values} is {exact}, got {result}, {error} ULP"
        )


def worst_against_float64(op, count, seed):
    """The greatest float32 error against the library's float64 function, and where it is."""
    arguments = arguments_of(op, FLOAT32, count, seed)
    with np.errstate(all="ignore"):
        got = evaluate(op, FLOAT32, *arguments).astype(np.float64)
        exact = np.asarray(
            SINGLE_LIBRARY[op](*[value.astype(np.float64) for value in arguments]), np.float64
        )
        limited, got_limited = (np.clip(value, -(2.0**128), 2.0**128) for value in (exact, got))
        last = np.clip(np.frexp(limited)[1], -125, 128) - 24
        errors = np.ldexp(np.abs(got_limited - limited), -last)
    errors = np.where(
        np.isnan(exact) & np.isnan(got), 0.0, np.where(np.isnan(errors), np.inf, errors)
    )
    worst = int(np.argmax(errors))
    return float(errors[worst]), [float(value[worst]) for value in arguments]


@pytest.mark.parametrize("op", OPS)
def test_the_float32_error_is_within_the_bound_on_a_dense_sample(op):
    error, where = worst_against_float64(op, 200_000, SEED)
    assert error <= MAX_ULP[op, FLOAT32], f"seed {SEED}: {op.name}{where} is off by {error} ULP"


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_the_float32_error_is_within_the_bound_on_a_denser_sample(op):
    for part in range(20):
        error, where = worst_against_float64(op, 1_000_000, SEED + part)
        assert error <= MAX_ULP[op, FLOAT32], (
            f"seed {SEED + part}: {op.name}{where} is off by {error} ULP"
        )


INF, NAN = math.inf, math.nan
SPECIAL = {
    Op.EXP2: (
        (-INF, 0.0),
        (INF, INF),
        (NAN, NAN),
        (0.0, 1.0),
        (-0.0, 1.0),
        (-1.0, 0.5),
        (10.0, 1024.0),
        (-1e30, 0.0),
    ),
    Op.LOG2: (
        *((0.0, -INF), (-0.0, -INF), (-1e-30, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)),
        *(
            (1.0, 0.0),
            (2.0, 1.0),
            (0.5, -1.0),
            (2.0**-126, -126.0),
            (2.0**-149, -149.0),
            (2.0**127, 127.0),
        ),
    ),
    Op.SIN: ((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)),
    Op.COS: ((0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)),
    Op.TAN: ((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)),
    Op.TANH: ((0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (25.0, 1.0), (NAN, NAN)),
    Op.ERF: ((0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (7.0, 1.0), (NAN, NAN)),
}


def special_values(op):
    """Arguments with the exact result. Those of POW are C's, which NumPy has."""
    if op is not Op.POW:
        return SPECIAL[op]
    values = [0.0, 0.25, 1.0, 2.0, 3.0, 1e30, INF, NAN, -0.0, -0.25, -1.0, -2.0, -3.0, -1e30, -INF]
    pairs = [(x, y) for x in values for y in values if abs(x) in (0, 1, INF) or abs(y) in (0, INF)]
    return [(x, y, library_power(x, y)) for x, y in [*pairs, (NAN, 2.0), (-2.0, 0.5)]]


@each_function
def test_special_values_are_exact_to_the_sign_of_zero(op, dtype):
    *arguments, expected = zip(*special_values(op), strict=True)
    got = evaluate(op, dtype, *arguments)
    assert [str(float(value)) for value in got] == [str(value) for value in expected]


@each_function
def test_the_number_of_nodes_is_what_is_stated(op, dtype):
    _, root = decomposed(op, dtype)
    counted = [node for node in toposort(root) if node.op not in (Op.CONST, Op.ACC)]
    assert len(counted) <= MAX_NODES[op, dtype]


@each_function
def test_only_operations_that_every_backend_computes_alike_are_used(op, dtype):
    arguments, root = decomposed(op, dtype)
    assert {node.op for node in toposort(root) if node not in arguments} <= IEEE_OPS


@each_function
def test_float32_needs_no_float64(op, dtype):
    _, root = decomposed(op, dtype)
    assert {node.dtype for node in toposort(root) if node.dtype.is_float} == {dtype}


@each_function
def test_every_node_is_well_formed(op, dtype):
    _, root = decomposed(op, dtype)
    assert [why_malformed(node) for node in toposort(root) if why_malformed(node)] == []


@each_function
def test_no_shift_needs_a_guard(op, dtype):
    _, root = decomposed(op, dtype)
    shifts = [node for node in toposort(root) if node.op in (Op.SHL, Op.SHR)]
    assert all(
        0 <= bounds(node.src[1])[0] <= bounds(node.src[1])[1] < node.dtype.bits for node in shifts
    )


@each_function
def test_no_float_is_cast_to_an_integer(op, dtype):
    _, root = decomposed(op, dtype)
    casts = [node for node in toposort(root) if node.op is Op.CAST and node.src[0].dtype.is_float]
    assert casts == []


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_sixteen_bit_floats_are_computed_in_float32(op, dtype):
    arguments, root = decomposed(op, dtype)
    inner = [node for node in toposort(root) if node not in arguments and node is not root]
    assert root.op is Op.CAST
    assert not any(node.dtype is dtype for node in inner)


@pytest.mark.parametrize("op", OPS)
def test_vectors_are_decomposed_lane_by_lane(op):
    _, root = decomposed(op, FLOAT32.vec(4))
    assert [why_malformed(node) for node in toposort(root) if why_malformed(node)] == []
    assert {node.dtype.count for node in toposort(root) if node.op is not Op.CONST} == {4}
    assert BOOL.vec(4) in {node.dtype for node in toposort(root)}
