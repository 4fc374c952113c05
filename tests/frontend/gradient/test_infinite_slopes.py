"""What counts for nothing passes nothing on, however steep it is there."""

import numpy as np
import pytest

from compiler import Tensor, jit, nn, optim
from tests.frontend.gradient.differences import check


def gradients(function, *arrays, device="reference"):
    """The gradients of the sum of `function`'s elements, as lists."""
    given = [Tensor(np.asarray(array, float), device=device) for array in arrays]
    return [found.numpy().tolist() for found in function(*given).sum().gradient(*given)]


INF = float("inf")
UNTAKEN = {
    "sqrt": (lambda x: Tensor.where(x > 0, x.sqrt(), x), [0.0, -1.0, 4.0], [1, 1, 0.25]),
    "rsqrt": (lambda x: Tensor.where(x > 0, x.rsqrt(), 0.0), [0.0, 1.0], [0, -0.5]),
    "log": (lambda x: Tensor.where(x > 0, x.log(), 2 * x), [0.0, 4.0], [2, 0.25]),
    "log2 squared": (lambda x: Tensor.where(x > 1, x.log2() ** 2, x), [0.0, 1.0], [1, 1]),
    "entropy": (lambda x: Tensor.where(x > 0, x * x.log(), 0.0), [0.0, 1.0], [0, 1]),
    "quotient": (lambda x: Tensor.where(x != 0, 1.0 / x, 3 * x), [0.0, 2.0], [3, -0.25]),
    "power": (lambda x: Tensor.where(x > 0, x**0.5, 0.0), [0.0, 4.0], [0, 0.25]),
    "exp": (lambda x: Tensor.where(x < 700, x.exp(), x), [800.0, 0.0], [1, 1]),
    "sine": (lambda x: Tensor.where(x < INF, x.sin(), 0.0), [INF, 0.0], [0, 1]),
    "acos": (lambda x: Tensor.where(x < 1, x.acos(), 0.0), [1.0, 0.0], [0, -1]),
    "root of a sum": (
        lambda x: Tensor.where((x * x).sum() > 0, (x * x).sum().sqrt(), 0.0),
        [0.0, 0.0],
        [0, 0],
    ),
    "a slice": (lambda x: x.sqrt()[1:], [0.0, 1.0], [0, 0.5]),
    "the greatest": (lambda x: x.sqrt().max(), [0.0, 1.0], [0, 0.5]),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_a_branch_that_is_not_taken_passes_no_nan_on(name):
    function, x, wanted = UNTAKEN[name]
    assert gradients(function, x) == [wanted]


@pytest.mark.parametrize("name", ["sqrt", "entropy", "exp"])
def test_no_rule_of_the_compiler_takes_the_nan_for_a_number(name):
    function, x, wanted = UNTAKEN[name]
    assert gradients(function, x, device="llvm") == [wanted]


def test_missing_data_does_not_reach_weights():
    missing, weights = [np.nan, 4.0], [1.0, 2.0]
    _, found = gradients(lambda x, w: Tensor.where(x == x, x * w, 0.0), missing, weights)
    assert found == [0, 4]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_a_row_that_is_masked_out_gets_no_nan(name):
    rows = [[-np.inf, -np.inf], [1.0, 2.0]]

    def kept(x):
        found = getattr(x, name)(-1)
        is_row = Tensor(np.array([False, True]), device="reference")
        return Tensor.where(is_row if found.ndim == 1 else is_row[:, None], found * found, 0.0)

    ((dead, alive),) = gradients(kept, rows)
    assert dead == [0, 0]
    assert np.isfinite(alive).all()
    assert any(alive)


def test_an_infinite_slope_that_counts_stays():
    assert gradients(lambda x: x.sqrt(), [0.0, 1.0]) == [[INF, 0.5]]


def test_a_gradient_that_is_0_has_a_gradient():
    x = Tensor(np.array([1.0, 4.0]), device="reference")
    (slope,) = ((x.sqrt() - 1) ** 2).sum().gradient(x)
    (curvature,) = slope.sum().gradient(x)
    assert slope.numpy().tolist() == [0, 0.5]
    assert curvature.numpy().tolist() == [0.5, 0.0625]


def test_second_derivatives_of_a_guarded_branch():
    def slope(x):
        kept = Tensor.where(x > 0.5, x.sqrt() * x.log(), x * x)
        return kept.sum().gradient(x)[0]

    check(slope, np.array([0.2, 0.4, 0.8, 2.0]))


class Scattering:
    """A little of all: placed, summed by letters, and a root whose slope is infinite at 0."""

    def __init__(self):
        make = nn.Initial(seed=0, device="llvm")
        self.embedding, self.mixed = nn.Linear(make, 4, 6), nn.Linear(make, 6, 6)

    def __call__(self, x, places):
        hidden = self.embedding(x).relu()
        counted = (hidden * 0.0).put_along_axis(places, hidden, 1, reduce="add")
        pairs = Tensor.einsum("bi,ij,bj->bi", counted, self.mixed.weight, counted)
        pairs = pairs + self.mixed.bias
        total = pairs * pairs
        return Tensor.where(total > 0, total.sqrt(), 0.0).sum(1)


def trained(wrap):
    model = Scattering()
    optimizer = optim.SGD(nn.parameters(model), learning_rate=0.01)

    def step(x, places, wanted):
        loss = ((model(x, places) - wanted) ** 2).mean()
        return optim.minimize(loss, optimizer)

    step = wrap(step, optimizer)
    random = np.random.default_rng(3)
    losses = []
    for _ in range(4):
        x = Tensor(random.standard_normal((5, 4)).astype("f4"))
        places = Tensor(random.integers(0, 6, (5, 6)))
        losses.append(float(step(x, places, Tensor(np.ones(5, "f4")))))
    return losses


def test_a_recorded_step_of_all_this_gives_the_losses_of_one_that_is_not():
    plain = trained(lambda step, optimizer: step)
    recorded = trained(lambda step, optimizer: jit(step, state=optimizer.state))
    assert np.isfinite(plain).all()
    assert recorded == plain
