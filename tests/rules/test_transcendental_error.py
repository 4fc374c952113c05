"""The errors of transcendental functions, on a sample that every run draws afresh."""

import math
import secrets

import numpy as np
import pytest
from transcendental_samples import (
    FUNCTIONS,
    arguments_of,
    error_in_ulp,
    evaluate,
    exact_value,
    library_power,
)

from compiler.ir import FLOAT32, FLOAT64, Op
from compiler.rules import DECOMPOSITIONS, MAX_ULP

SEED = secrets.randbits(32)
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
each_function = pytest.mark.parametrize(("op", "dtype"), FUNCTIONS, ids=str)


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


@pytest.mark.parametrize("op", DECOMPOSITIONS)
def test_the_float32_error_is_within_the_bound_on_a_dense_sample(op):
    error, where = worst_against_float64(op, 200_000, SEED)
    assert error <= MAX_ULP[op, FLOAT32], f"seed {SEED}: {op.name}{where} is off by {error} ULP"


@pytest.mark.slow
@pytest.mark.parametrize("op", DECOMPOSITIONS)
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
