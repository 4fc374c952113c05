"""Reductions give NumPy's numbers; ties, empty axes and narrow floats are decided."""

import numpy as np
import pytest

from compiler.errors import DTypeError, ShapeError

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float32", "float64"]
NAMES = ["sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_of_every_dtype_equal_numpys(tensor, check, random, name, dtype):
    x = random.integers(0, 3, (3, 5)).astype(dtype)
    rtol = 1e-6 if name == "mean" else 0.0
    check(getattr(tensor(x), name)(1), getattr(np, name)(x, 1), rtol=rtol)
    check(getattr(tensor(x), name)(), getattr(np, name)(x), rtol=rtol)


@pytest.mark.parametrize("name", ["sum", "max", "mean", "any"])
@pytest.mark.parametrize("axis", [0, -1, (0, 2), (2, 0), ()])
def test_reductions_over_any_axes_keep_them_on_demand(tensor, check, random, name, axis):
    x = random.integers(-4, 4, (2, 3, 4))
    check(getattr(tensor(x), name)(axis), getattr(np, name)(x, axis))
    wanted = getattr(np, name)(x, axis, keepdims=True)
    check(getattr(tensor(x), name)(axis, keepdims=True), wanted)


def test_the_extremes_of_every_integer_dtype_come_through(tensor, check):
    for dtype in DTYPES[1:9]:
        limits = np.iinfo(dtype)
        x = np.array([limits.min, limits.max, 0], dtype)
        check(tensor(x).max(), x.max())
        check(tensor(x).min(), x.min())


def test_nan_wins_over_everything(tensor, check):
    x = np.array([[1, np.nan, 3, np.nan], [2, 5, 5, 1]], np.float32)
    check(tensor(x).max(1), x.max(1))
    check(tensor(x).min(1), x.min(1))
    check(tensor(x).argmax(1), x.argmax(1))


def test_the_first_of_equal_elements_is_the_greatest(tensor, check):
    x = np.array([[3, 7, 7, 1], [0, 0, 0, 0]])
    check(tensor(x).argmax(1), np.array([1, 0]))
    check(tensor(x).argmin(1), np.array([3, 0]))
    check(tensor(x).argmax(), np.array(1))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_the_extreme_of_nothing_is_a_value_error_that_names_the_shape(tensor, name):
    with pytest.raises(ShapeError, match=r"\(2, 0\)"):
        getattr(tensor(np.zeros((2, 0))), name)(1)


def test_the_sum_of_nothing_is_zero_and_the_product_one(tensor, check):
    x = np.zeros((2, 0, 3), np.float32)
    check(tensor(x).sum(1), np.zeros((2, 3), np.float32))
    check(tensor(x).prod(1), np.ones((2, 3), np.float32))
    check(tensor(x).any(1), np.zeros((2, 3), bool))
    check(tensor(x).all(1), np.ones((2, 3), bool))
    check(tensor(x).mean(1), np.full((2, 3), np.nan, np.float32))


def test_sums_of_float16_do_not_overflow_on_the_way(tensor, check):
    x = np.full((256, 256), 60000, np.float16)
    check(tensor(x).mean(), np.float16(60000))
    check(tensor(np.ones(4096, np.float16)).sum(), np.float16(4096))
    check(tensor(x[:2]).var(1), np.zeros(2, np.float16))


def test_variance_is_numpys_also_far_from_zero(tensor, check, random):
    x = (1000 + random.normal(size=(4, 300))).astype(np.float32)
    exact = x.astype(np.float64)
    check(tensor(x).var(1), exact.var(1).astype(np.float32), rtol=1e-4)
    check(tensor(x).std(0, correction=1), exact.std(0, ddof=1).astype(np.float32), rtol=1e-4)


def test_a_dtype_asked_for_is_the_dtype_of_the_sum(tensor, check):
    x = np.full(3, 100, np.int8)
    check(tensor(x).sum(dtype="int8"), x.sum(dtype=np.int8))
    check(tensor(x).sum(dtype="float32"), np.float32(300))
    with pytest.raises(DTypeError, match="any or all"):
        tensor(x).sum(dtype="bool")


def test_softmax_and_its_logarithm_do_not_overflow(tensor, check):
    x = np.array([[1000.0, 1001.0, 999.0], [-1000.0, 0.0, 1.0]])
    shifted = np.exp(x - x.max(1, keepdims=True))
    wanted = shifted / shifted.sum(1, keepdims=True)
    check(tensor(x).softmax(1), wanted, rtol=1e-14)
    check(tensor(x).log_softmax(1)[0], np.log(wanted[0]), rtol=1e-14)
    check(tensor(x).logsumexp(1), x.max(1) + np.log(shifted.sum(1)), rtol=1e-15)


def test_logsumexp_of_infinities_is_infinite(tensor, check):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1.0]])
    check(tensor(x).logsumexp(1), np.array([-np.inf, np.inf]))


@pytest.mark.parametrize("length", [1, 5, 255, 256, 257, 600])
def test_running_sums_equal_numpys_below_and_above_the_block_size(tensor, check, random, length):
    x = random.integers(-9, 9, length).astype(np.int32)
    check(tensor(x).cumsum(), x.cumsum())
    check(tensor(x).cumsum(dtype="int32"), x.cumsum(dtype=np.int32))


def test_running_sums_and_products_go_along_any_axis(tensor, check, random):
    x = random.integers(-2, 3, (3, 4, 2))
    check(tensor(x).cumsum(1), x.cumsum(1))
    check(tensor(x).cumprod(-1), x.cumprod(-1))
    with_start = np.concatenate([np.zeros((3, 1, 2), int), x.cumsum(1)], 1)
    check(tensor(x).cumsum(1, include_initial=True), with_start)
