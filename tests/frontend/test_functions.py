"""Functions of floats are within a few units in the last place, special values included."""

import math

import numpy as np
import pytest

NAMES = [
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
    "cosh", "tanh",
]  # fmt: skip
POSITIVE = ("sqrt", "log", "log2", "log10", "log1p")
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 80, -80, 700], np.float32)
MAX_ULP = 5


def ulp(found, exact):
    """The largest distance from the exact value in units of the last place of the result."""
    unit = np.spacing(np.abs(exact.astype(found.dtype))).astype(np.float64)
    return float((np.abs(found.astype(np.float64) - exact) / unit).max())


@pytest.mark.parametrize("name", NAMES)
def test_float32_functions_are_within_a_few_ulp(tensor, random, name):
    x = random.normal(size=500) * np.exp(random.uniform(-4, 3, 500))
    x = (abs(x) if name in POSITIVE else x).astype(np.float32)
    found = getattr(tensor(x), name)().numpy()
    assert ulp(found, getattr(np, name)(x.astype(np.float64))) <= MAX_ULP


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "tanh", "sinh", "cosh", "log", "log1p"])
def test_special_values_are_numpys(tensor, check, name):
    with np.errstate(all="ignore"):
        check(getattr(tensor(SPECIAL), name)(), getattr(np, name)(SPECIAL), rtol=1e-6)


@pytest.mark.parametrize("name", ["sinh", "expm1", "tanh", "sin"])
def test_odd_functions_keep_the_sign_of_zero(tensor, name):
    assert np.signbit(getattr(tensor(np.array([-0.0], np.float32)), name)().numpy()[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "bool"])
def test_integers_give_numpys_floats(tensor, check, name, dtype):
    x = np.ones(3, dtype)
    check(getattr(tensor(x), name)(), getattr(np, name)(x), rtol=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_float16_is_rounded_once_from_a_wider_result(tensor, random, name):
    x = abs(random.normal(size=200)).astype(np.float16)
    found = getattr(tensor(x), name)().numpy()
    exact = getattr(np, name)(x.astype(np.float64))
    assert ulp(found, exact) <= 0.51


def test_erf_equals_the_libraries(tensor):
    x = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(tensor(x).erf().numpy(), [math.erf(v) for v in x], rtol=1e-13)


def test_activations_are_their_formulas(tensor, check):
    x = np.linspace(-4, 4, 33)
    s = 1 / (1 + np.exp(-x))
    phi = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    check(tensor(x).sigmoid(), s, rtol=1e-14)
    check(tensor(x).silu(), x * s, rtol=1e-14)
    check(tensor(x).gelu(), x * phi, rtol=1e-13, atol=1e-15)
    check(tensor(x).softplus(), np.log1p(np.exp(x)), rtol=1e-14)
    check(tensor(x).relu(), np.maximum(x, 0))


def test_hypot_and_logaddexp_do_not_overflow_on_the_way(tensor, check):
    a, b = np.array([3e200, 0.0, np.inf, 5.0]), np.array([4e200, 0.0, 1.0, 12.0])
    check(tensor(a).hypot(tensor(b)), np.hypot(a, b), rtol=1e-15)
    a, b = np.array([800.0, -np.inf, 1.0]), np.array([800.0, -np.inf, -2.0])
    check(tensor(a).logaddexp(tensor(b)), np.logaddexp(a, b), rtol=1e-14)


@pytest.mark.parametrize("name", ["hypot", "logaddexp"])
def test_two_special_values_give_what_they_give_in_numpy(tensor, check, name):
    values = np.array([0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan])
    a, b = [grid.reshape(-1) for grid in np.meshgrid(values, values)]
    check(getattr(tensor(a), name)(tensor(b)), getattr(np, name)(a, b), rtol=1e-14)


INVERSES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh",
}  # fmt: skip


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_are_within_a_few_ulp(tensor, random, name):
    inside = random.uniform(-1, 1, 400)
    wide = random.normal(size=400) * 10.0 ** random.uniform(-30, 30, 400)
    x = inside if name in ("asin", "acos", "atanh") else np.concatenate([inside, wide])
    x = (abs(x) + 1 if name == "acosh" else x).astype(np.float32)
    found = getattr(tensor(x), name)().numpy()
    assert ulp(found, getattr(np, INVERSES[name])(x.astype(np.float64))) <= MAX_ULP


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_have_numpys_special_values(tensor, check, name):
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        check(getattr(tensor(x), name)(), getattr(np, INVERSES[name])(x), rtol=1e-15)


def test_angles_of_points_are_numpys_with_signs_of_zeros(tensor):
    ends = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    y, x = np.repeat(ends, ends.size), np.tile(ends, ends.size)
    found, wanted = tensor(y).atan2(tensor(x)).numpy(), np.arctan2(y, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    is_number = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found)[is_number], np.signbit(wanted)[is_number])
