"""The gradient of every differentiable function is that of its central differences, in float64."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend import graph
from compiler.frontend.functions.gathering import along_axis
from compiler.frontend.tensor import wrap
from tests.frontend.gradient.differences import check


def numbers(*shape, seed=1):
    """No two alike, none near 0: functions with corners are smooth around all of them."""
    random = np.random.default_rng(seed)
    size = int(np.prod(shape))
    steps = (np.arange(size) + 1.0) / size * 1.7 + 0.15 + seed / 1000
    return (random.permutation(steps) * random.choice((-1, 1), size)).reshape(shape)


def positive(*shape, seed=1):
    return abs(numbers(*shape, seed=seed))


OF_REALS = [
    "square",
    "exp",
    "exp2",
    "expm1",
    "erf",
    "sin",
    "cos",
    "tanh",
    "sinh",
    "cosh",
    "sigmoid",
    "relu",
    "silu",
    "gelu",
    "softplus",
    "abs",
]
BETWEEN_ONES = ["asin", "acos", "atan", "atanh", "asinh"]
OF_POSITIVES = ["sqrt", "rsqrt", "reciprocal", "log", "log2", "log10", "log1p"]


@pytest.mark.parametrize("name", OF_REALS)
def test_functions_of_real_numbers(name):
    check(lambda x: getattr(x, name)(), numbers(3, 5))


@pytest.mark.parametrize("name", OF_POSITIVES)
def test_functions_of_positive_numbers(name):
    check(lambda x: getattr(x, name)(), positive(3, 5))


@pytest.mark.parametrize("name", BETWEEN_ONES)
def test_inverse_functions(name):
    check(lambda x: getattr(x, name)(), numbers(3, 5) / 2)


def test_functions_of_what_is_above_one():
    check(lambda x: x.acosh(), positive(3, 5) + 1)


def test_tan():
    check(lambda x: x.tan(), numbers(3, 5) * 0.7)


BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "where": lambda a, b: Tensor.where(a > b, a * b, b),
    "remainder": lambda a, b: a % b,
    "hypot": lambda a, b: a.hypot(b),
    "logaddexp": lambda a, b: a.logaddexp(b),
    "atan2": lambda a, b: a.atan2(b),
    "copysign": lambda a, b: a.copysign(b) + b,
    "of a number": lambda a, b: 3.0 / a - 2 * b + 1,
    "squares of a difference": lambda a, b: ((a - b) ** 2).mean(axis=0),
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    check(BINARY[name], numbers(4, 3), numbers(4, 3, seed=2))


@pytest.mark.parametrize("name", ["add", "divide", "maximum", "where"])
def test_a_repeated_operand_gets_the_sum(name):
    check(BINARY[name], numbers(4, 3), numbers(3, seed=2))
    check(BINARY[name], numbers(4, 1), numbers(2, 1, 3, seed=2))


@pytest.mark.parametrize("exponent", [-2, -0.5, 0, 0.5, 1, 2, 3, 2.5])
def test_powers_of_a_constant_exponent(exponent):
    check(lambda x: x**exponent, positive(3, 4))


def test_powers_by_base_and_exponent():
    check(lambda x, y: x**y, positive(3, 4), numbers(3, 4, seed=2))


MOVES = {
    "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(2, 2, 6),
    "expand": lambda x: x[:, None].expand(4, 3, 6),
    "pad": lambda x: x.pad(((1, 2), (0, 1))),
    "pad with a number": lambda x: x.pad(1, 7.0),
    "slice": lambda x: x[1:3, 2:],
    "steps": lambda x: x[::2, 1::3],
    "backwards": lambda x: x[::-1, ::-2],
    "roll": lambda x: x.roll(2, 1),
    "tile": lambda x: x.tile((2, 1)),
    "repeat": lambda x: x.repeat(3, 0),
    "concat with itself": lambda x: Tensor.concat([x, x * x], 1),
    "stack": lambda x: Tensor.stack([x, x * x]),
    "tril": lambda x: x.tril(),
    "diff": lambda x: x.diff(),
    "sort": lambda x: x.sort(),
    "topk": lambda x: x.topk(2)[0],
    "contiguous": lambda x: (x * x).contiguous(),
}


@pytest.mark.parametrize("name", MOVES)
def test_moved_elements(name):
    check(lambda x: MOVES[name](x) ** 2, numbers(4, 6))


REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(1),
    "mean": lambda x: x.mean(0, keepdims=True),
    "prod": lambda x: x.prod(1),
    "prod of two axes": lambda x: x.reshape(2, 2, 3).prod((0, 2)),
    "max": lambda x: x.max(0),
    "max of all": lambda x: x.max(),
    "min": lambda x: x.min(1, keepdims=True),
    "var": lambda x: x.var(1, correction=1),
    "std": lambda x: x.std(),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(1),
    "layer_norm": lambda x: x.layer_norm(),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    check(REDUCTIONS[name], numbers(4, 3))


def test_a_running_sum_in_blocks():
    check(lambda x: x.cumsum(0), numbers(300))


PRODUCTS = {
    "matmul": ((3, 4), (4, 2), lambda a, b: a @ b),
    "batches": ((2, 1, 3, 4), (5, 4, 2), lambda a, b: a @ b),
    "vector": ((4,), (4, 3), lambda a, b: a @ b),
    "outer": ((3,), (4,), lambda a, b: a.outer(b)),
    "einsum": ((3, 4), (2, 4), lambda a, b: Tensor.einsum("ij,kj->ik", a, b)),
    "transposed convolution": (
        (1, 2, 4),
        (2, 3, 3),
        lambda a, b: a.conv_transpose(b, stride=2, padding=1),
    ),
    "tensordot": ((2, 3, 4), (4, 3, 2), lambda a, b: a.tensordot(b, ((1, 2), (1, 0)))),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    first, second, product = PRODUCTS[name]
    check(product, numbers(*first), numbers(*second, seed=2))


CONVOLUTIONS = {
    "plain": ((2, 3, 7), (4, 3, 3), {}),
    "two dimensions": ((2, 3, 5, 6), (4, 3, 3, 2), {"padding": 1}),
    "three dimensions": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), {"padding": ((0, 1), (1, 0), (1, 1))}),
    "groups": ((2, 4, 6), (6, 2, 3), {"groups": 2, "padding": 1}),
    "channel by channel": ((2, 3, 5, 5), (3, 1, 3, 3), {"groups": 3}),
    "steps with a rest": ((2, 2, 8), (3, 2, 3), {"stride": 2}),
    "steps and gaps": ((1, 2, 9, 8), (2, 2, 2, 3), {"stride": (3, 2), "dilation": (2, 1)}),
    "padding beyond the kernel": ((1, 1, 4), (1, 1, 2), {"padding": 3, "stride": 2}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    x, weight, options = CONVOLUTIONS[name]
    check(lambda a, b: a.conv(b, **options), numbers(*x), numbers(*weight, seed=2))


def test_the_bias_of_a_convolution():
    x, weight = numbers(2, 3, 5), numbers(4, 3, 2, seed=2)
    check(lambda a, b, c: a.conv(b, c), x, weight, numbers(4, seed=3))


POOLS = {
    "side by side": ((2,), {}),
    "with a rest": ((3,), {}),
    "overlapping": ((3,), {"stride": 1, "padding": 1}),
    "gaps": ((2,), {"stride": 3, "padding": 1}),
    "overlapping gaps": ((3,), {"stride": 2, "dilation": 2, "padding": 2}),
    "beyond the end": ((1,), {"stride": 3}),
}


@pytest.mark.parametrize("kind", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("name", POOLS)
def test_pools(name, kind):
    (kernel,), options = POOLS[name]
    x = numbers(1, 2, 7, 8)
    check(lambda a: getattr(a, kind)((kernel, kernel), **options), x)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(7, 4), (2, 3)], ids=["larger", "smaller"])
def test_resized_images(mode, sizes):
    check(lambda x: x.interpolate(sizes, mode) ** 2, numbers(2, 4, 3))


def test_picked_rows_get_the_sum_of_what_they_gave():
    places = np.array([[1, 3], [1, 0]])
    check(lambda x: x[places] ** 2, numbers(4, 3))
    check(lambda x: x.take(places, 1) ** 2, numbers(2, 4, seed=3))


def test_picked_elements_of_a_row_get_what_they_gave():
    places = Tensor(np.array([[2, 0, 2, -1], [1, 1, 7, 0]]), device="reference").value
    check(lambda x: wrap(along_axis(x.value, places, 1)) ** 2, numbers(2, 3))


def test_elements_at_offsets_get_what_they_gave():
    offsets = Tensor(np.array([[5, 0], [0, 9]], np.int32), device="reference").value
    check(lambda x: wrap(graph.gather(x.value, offsets)) ** 2, numbers(2, 3))


def test_replaced_elements_pass_nothing_on():
    def replaced(x, y):
        z = x * 1.0
        z[1:3] = y
        z[np.array([0])] = y[1] * 2
        return z**2

    check(replaced, numbers(4, 3), numbers(2, 3, seed=2))


def test_gradients_of_gradients():
    def slope(x):
        (found,) = (x.exp() * x.sin()).sum().gradient(x)
        return found

    check(slope, numbers(3, 2))


def test_gradients_of_gradients_of_a_convolution():
    weight = Tensor(numbers(2, 2, 3, seed=4), device="reference")

    def slope(x):
        (found,) = (x.conv(weight, padding=1) ** 3).sum().gradient(x)
        return found

    check(slope, numbers(1, 2, 5))
