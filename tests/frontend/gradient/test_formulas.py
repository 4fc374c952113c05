"""Gradients are what mathematics says, also where the difference of two values would be noise."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.gradient import elementwise, movement, reduce
from compiler.frontend.graph import Kind
from compiler.ir import COMPARISONS, ELEMENTWISE, Op

# ordinary numbers, tiny ones, and some for which a part of the function overflows or is 0
POINTS = np.array([-800.0, -40.0, -1.5, -1e-10, 1e-10, 0.3, 2.0, 30.0, 800.0])
POSITIVE = np.array([1e-300, 1e-10, 0.3, 1.0, 2.0, 1e10, 1e300])


def sigmoid(x):
    e = np.exp(-abs(x))
    return np.where(x > 0, 1 / (1 + e), e / (1 + e))


SLOPES = {
    "exp": (np.exp, POINTS[1:-1]),
    "expm1": (np.exp, POINTS[1:-1]),
    "sigmoid": (lambda x: sigmoid(x) * sigmoid(-x), POINTS[1:-1]),
    "silu": (lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), POINTS),
    "softplus": (sigmoid, POINTS),
    "tanh": (lambda x: 1 / np.cosh(x) ** 2, np.array([-3.0, -1e-10, 0.5, 2.0])),
    "relu": (lambda x: (x > 0) * 1.0, POINTS),
    "abs": (np.sign, POINTS),
    "sinh": (np.cosh, POINTS[1:-1]),
    "cosh": (np.sinh, POINTS[1:-1]),
    "sin": (np.cos, POINTS),
    "log": (lambda x: 1 / x, POSITIVE),
    "log1p": (lambda x: 1 / (1 + x), POSITIVE),
    "sqrt": (lambda x: 0.5 / np.sqrt(x), POSITIVE),
    "rsqrt": (lambda x: -0.5 / (x * np.sqrt(x)), POSITIVE[1:-1]),
    "reciprocal": (lambda x: -1 / x**2, POSITIVE[1:-1]),
}


@pytest.mark.parametrize("name", SLOPES)
def test_the_slope_is_the_derivative(name):
    slope, points = SLOPES[name]
    x = Tensor(points, device="reference")
    (found,) = getattr(x, name)().sum().gradient(x)
    np.testing.assert_allclose(found.numpy(), slope(points), rtol=3e-15, atol=1e-300)


def gradient_of(function, array):
    x = Tensor(np.asarray(array), device="reference")
    (found,) = function(x).gradient(x)
    return found.numpy().tolist()


def test_corners_have_the_slope_0_at_the_ends_of_relu_and_clip():
    assert gradient_of(lambda x: x.relu().sum(), [-1.0, 0.0, 1.0]) == [0, 0, 1]
    assert gradient_of(lambda x: x.clip(-1, 1).sum(), [-1.0, 0.0, 1.0, 2.0]) == [0, 1, 0, 0]
    assert gradient_of(lambda x: x.abs().sum(), [-1.0, 0.0, 1.0]) == [-1, 0, 1]


def test_equal_elements_share_the_gradient_of_a_maximum():
    assert gradient_of(lambda x: x.max(), [1.0, 3.0, 3.0]) == [0, 0.5, 0.5]
    y = Tensor(np.array([1.0, 2.0, 3.0]), device="reference")
    assert gradient_of(lambda x: x.maximum(y).sum(), [3.0, 2.0, 1.0]) == [1, 0.5, 0]


NAN = np.nan
EXTREMES = {
    "max": (lambda x: x.max(), [1.0, NAN, 2.0], [0, 1, 0]),
    "min": (lambda x: x.min(), [NAN, 1.0, NAN], [0.5, 0, 0.5]),
    "max of rows": (lambda x: x.reshape(2, 2).max(1).sum(), [NAN, 1.0, 3.0, 2.0], [1, 0, 1, 0]),
    "max pool": (
        lambda x: x.reshape(1, 1, 5).max_pool(2, stride=1).sum(),
        [1.0, NAN, 3.0, 2.0, 4.0],
        [0, 2, 1, 0, 1],
    ),
    "maximum": (lambda x: x.maximum(x.flip()).sum(), [1.0, NAN, 2.0], [0, 1, 2]),
    "minimum": (lambda x: x.minimum(1.5).sum(), [1.0, NAN, 2.0], [1, 1, 0]),
    "put": (
        lambda x: (
            Tensor.zeros((1,), dtype=float, device="reference")
            .put_along_axis([0, 0, 0], x, 0, reduce="maximum")
            .sum()
        ),
        [1.0, NAN, 2.0],
        [0, 1, 0],
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_an_extreme_that_is_nan_has_the_gradient_of_the_elements_that_are(name):
    function, x, wanted = EXTREMES[name]
    assert gradient_of(function, x) == wanted


def test_a_product_with_zeros_gives_each_factor_the_product_of_the_others():
    assert gradient_of(lambda x: x.prod(), [2.0, 0.0, 5.0]) == [0, 10, 0]
    assert gradient_of(lambda x: x.prod(), [2.0, 0.0, 0.0]) == [0, 0, 0]


def test_powers_at_a_base_or_an_exponent_of_0():
    assert gradient_of(lambda x: (x**3).sum(), [0.0, 2.0]) == [0, 12]
    b = Tensor(np.array([0.0, 1.0]), device="reference")
    assert gradient_of(lambda x: (x**b).sum(), [0.0, 0.0]) == [0, 1]
    assert gradient_of(lambda x: (b**x).sum(), [2.0, 2.0]) == [0, 0]


def test_angles_have_slopes_on_the_diagonals():
    one = Tensor(np.array([1.0, -1.0]), device="reference")
    assert gradient_of(lambda y: y.atan2(one).sum(), [1.0, 1.0]) == [0.5, -0.5]
    assert gradient_of(lambda x: one.atan2(x).sum(), [1.0, 1.0]) == [-0.5, 0.5]


def test_what_goes_up_in_steps_has_no_slope():
    for name in ("floor", "ceil", "trunc", "round"):
        assert gradient_of(lambda x, name=name: (getattr(x, name)() * x).sum(), [2.0]) == [2]


def test_the_branch_that_is_not_taken_passes_nothing_on():
    assert gradient_of(lambda x: Tensor.where(x > 0, x * 2, x * 5).sum(), [1.0, -1.0]) == [2, 5]


def test_sixteen_bit_floats_are_summed_in_float32():
    x = Tensor(np.zeros(1, np.float16), device="reference")
    (found,) = x.expand(4096).sum().gradient(x)
    assert found.dtype == np.float16
    assert found.numpy().tolist() == [4096]  # in float16, 2048 + 1 is 2048


def test_every_elementwise_op_on_floats_has_a_rule_for_each_source():
    of_floats = ELEMENTWISE - COMPARISONS - {Op.NOT, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR}
    assert set(elementwise.RULES) == of_floats - {Op.IDIV, Op.MOD}


def test_every_kind_of_value_has_rules():
    others = {Kind.SOURCE, Kind.CONST, Kind.COUNT, Kind.ELEMENTWISE, Kind.GATHER, Kind.REDUCE}
    assert set(movement.RULES) == set(Kind) - others
    assert set(reduce.RULES) == {Op.ADD, Op.MUL, Op.MAX, Op.MIN}
