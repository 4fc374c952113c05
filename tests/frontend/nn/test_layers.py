"""Layers compute their formulas, and models know what is in them."""

from dataclasses import dataclass

import numpy as np
import pytest

from compiler import Tensor, jit, nn
from compiler.errors import OptionError, ShapeError
from tests.frontend.gradient.differences import check


@pytest.fixture
def make():
    return nn.Initial(seed=3, dtype="float64", device="reference")


def tensor(*shape, seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return Tensor(numbers, device="reference")


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-14)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_linear_multiplies_and_adds(make):
    layer, x = nn.Linear(make, 3, 2), tensor(4, 3)
    close(layer(x), x.numpy() @ layer.weight.numpy().T + layer.bias.numpy())
    bare = nn.Linear(make, 3, 2, bias=False)
    close(bare(x), x.numpy() @ bare.weight.numpy().T)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv_goes_over_as_many_axes_as_its_kernel_has(make, dims):
    layer = nn.Conv(make, 4, 6, (2,) * dims, stride=2, padding=1, groups=2)
    x = tensor(2, 4, *[5] * dims)
    wanted = x.conv(layer.weight, layer.bias, stride=2, padding=1, groups=2)
    assert layer(x).shape == (2, 6, *[3] * dims)
    close(layer(x), wanted.numpy())


def test_embedding_picks_rows(make):
    layer = nn.Embedding(make, 5, 3)
    numbers = Tensor([[4, 0], [1, 1]], device="reference")
    close(layer(numbers), layer.weight.numpy()[numbers.numpy()])


def test_layer_norm_has_mean_0_and_variance_1_over_its_axes(make):
    layer, x = nn.LayerNorm(make, 3, 4, eps=0.0), tensor(2, 3, 4)
    y = layer(x).numpy()
    np.testing.assert_allclose(y.mean((1, 2)), 0, atol=1e-14)
    np.testing.assert_allclose(y.var((1, 2)), 1)


def test_group_norm_is_a_layer_norm_of_each_group(make):
    layer, x = nn.GroupNorm(make, 2, 4, eps=0.0), tensor(3, 4, 5)
    groups = layer(x).numpy().reshape(3, 2, 10)
    np.testing.assert_allclose(groups.mean(-1), 0, atol=1e-14)
    np.testing.assert_allclose(groups.var(-1), 1)
    with pytest.raises(ShapeError, match="4 channels: has no 3 equal groups"):
        nn.GroupNorm(make, 3, 4)


def test_batch_norm_trains_on_the_batch_and_remembers_it(make):
    layer, x = nn.BatchNorm(make, 2, momentum=0.5, eps=0.0), tensor(4, 2, 3)
    y, array = layer(x, training=True).numpy(), x.numpy()
    np.testing.assert_allclose(y.mean((0, 2)), 0, atol=1e-14)
    np.testing.assert_allclose(y.var((0, 2)), 1)
    close(layer.mean, array.mean((0, 2)) / 2)
    close(layer.variance, 0.5 + array.var((0, 2), ddof=1) / 2)


def test_batch_norm_keeps_its_dtype_whatever_it_is_trained_with(device):
    layer = nn.BatchNorm(nn.Initial(seed=1, device=device), 2, momentum=1.0)
    x = np.random.default_rng(1).normal(size=(5, 2))
    layer(Tensor(x, device=device), training=True)
    assert layer.mean.dtype == layer.variance.dtype == np.float32
    np.testing.assert_allclose(layer.mean.numpy(), x.mean(0), rtol=1e-6)


def test_batch_norm_uses_what_it_remembers_otherwise(make):
    layer, x = nn.BatchNorm(make, 2, eps=0.0), tensor(4, 2)
    nn.load(
        layer,
        {"weight": [2.0, 1.0], "bias": [0.0, 1.0], "mean": [1.0, 0.0], "variance": [4.0, 1.0]},
    )
    close(layer(x), (x.numpy() - [1, 0]) / [2, 1] * [2, 1] + [0, 1])


def products(layer, x, h):
    """Of the input and of the state, all gates side by side."""
    gates = layer.gates
    of_input = x @ gates.inputs.numpy().T + gates.input_bias.numpy()
    return of_input, h @ gates.state.numpy().T + gates.state_bias.numpy()


def test_lstm_cell_keeps_and_forgets_by_its_gates(make):
    layer, x, h, c = nn.LSTMCell(make, 3, 2), tensor(4, 3), tensor(4, 2), tensor(4, 2, seed=1)
    new_h, new_c = layer(x, (h, c))
    i, o, f, g = np.split(sum(products(layer, x.numpy(), h.numpy())), 4, axis=1)
    wanted = sigmoid(f) * c.numpy() + sigmoid(i) * np.tanh(g)
    close(new_c, wanted)
    close(new_h, sigmoid(o) * np.tanh(wanted))


def test_gru_cell_mixes_old_and_new_by_its_gates(make):
    layer, x, h = nn.GRUCell(make, 3, 2), tensor(4, 3), tensor(4, 2, seed=1)
    a, b = products(layer, x.numpy(), h.numpy())
    (az, ar, an), (bz, br, bn) = np.split(a, 3, axis=1), np.split(b, 3, axis=1)
    update = sigmoid(az + bz)
    new = np.tanh(an + sigmoid(ar + br) * bn)
    close(layer(x, h), (1 - update) * new + update * h.numpy())


def test_a_cell_goes_over_a_sequence_step_by_step(make):
    layer, xs = nn.GRUCell(make, 3, 2), tensor(5, 4, 3)
    h = start = tensor(4, 2, seed=1)
    wanted = []
    for x in xs:
        h = layer(x, h)
        wanted.append(h.numpy())
    outputs, last = layer.over(xs, start)
    close(outputs, wanted)
    close(last, wanted[-1])


def test_gradients_go_through_time(make):
    layer, xs, h, c = nn.LSTMCell(make, 3, 2), tensor(3, 2, 3), tensor(2, 2), tensor(2, 2, seed=1)

    def function(weights, xs):
        layer.gates.state.value = weights.value
        return layer.over(xs, (h, c))[0]

    check(function, layer.gates.state.numpy(), xs.numpy())


def test_dropout_leaves_out_its_share_and_makes_up_for_it():
    x = Tensor(np.ones(10_000), device="reference")
    y = nn.Dropout(0.25, seed=1, device="reference")(x, training=True).numpy()
    assert set(y.tolist()) == {0.0, 1 / 0.75}
    assert 0.23 < (y == 0).mean() < 0.27


def test_dropout_draws_anew_in_each_call_and_alike_for_a_seed():
    x = Tensor(np.ones(1000), device="reference")
    layers = [nn.Dropout(0.5, seed, device="reference") for seed in (1, 1, 2)]
    first, again, other = [layer(x, training=True).numpy().tobytes() for layer in layers]
    assert first == again
    assert len({first, other, layers[0](x, training=True).numpy().tobytes()}) == 3


def test_dropout_does_nothing_outside_of_training():
    x = Tensor(np.ones(3), device="reference")
    assert nn.Dropout(0.5, 1, device="reference")(x) is x
    with pytest.raises(OptionError, match="rate is 1"):
        nn.Dropout(1, 1)


def test_dropout_draws_anew_in_each_run_of_a_recorded_program():
    layer, x = nn.Dropout(0.5, 1, device="reference"), Tensor(np.ones(100), device="reference")
    program = jit(lambda x: layer(x, training=True), state=[layer.calls])
    assert len({program(x).numpy().tobytes() for _ in range(4)}) == 4
    assert layer.calls.numpy() == 4


def test_cross_entropy_is_the_mean_of_minus_the_logarithm_of_what_the_label_got():
    logits, labels = tensor(3, 4), np.array([2, 0, 3])
    shares = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(1, keepdims=True)
    found = nn.cross_entropy(logits, Tensor(labels, device="reference"))
    close(found, -np.log(shares[range(3), labels]).mean())


def test_accuracy_counts_rows_whose_greatest_is_the_label():
    logits = Tensor([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]], device="reference")
    found = nn.accuracy(logits, Tensor([1, 1, 1], device="reference"))
    assert found.numpy() == pytest.approx(2 / 3)


@dataclass
class Model:
    layers: list
    head: object
    shared: object


@pytest.fixture
def model(make):
    head = nn.Linear(make, 2, 2)
    return Model([nn.BatchNorm(make, 2), nn.Conv(make, 1, 2, (3,))], {"out": head}, head)


def test_tensors_are_named_by_their_path_once(model):
    assert list(nn.tensors(model)) == [
        "layers.0.weight", "layers.0.bias", "layers.0.mean", "layers.0.variance",
        "layers.1.weight", "layers.1.bias", "head.out.weight", "head.out.bias",
    ]  # fmt: skip


def test_statistics_are_no_parameters(model):
    own = nn.tensors(model)
    names = [name for name, t in own.items() if any(t is p for p in nn.parameters(model))]
    assert [name for name in own if name not in names] == ["layers.0.mean", "layers.0.variance"]


def test_what_was_saved_can_be_loaded(model, make):
    saved = nn.save(model)
    nn.load(model, {name: array + 1 for name, array in saved.items()})
    for name, found in nn.save(model).items():
        assert found.tobytes() == (saved[name] + 1).tobytes()


def test_a_load_that_does_not_fit_changes_nothing(model):
    saved = nn.save(model)
    with pytest.raises(ShapeError, match="extra fit nothing"):
        nn.load(model, {**saved, "extra": np.zeros(2)})
    with pytest.raises(ShapeError, match=r"head.out.bias: is \(3,\), expected \(2,\)"):
        nn.load(model, {**{n: a + 1 for n, a in saved.items()}, "head.out.bias": np.zeros(3)})
    assert all(a.tobytes() == saved[n].tobytes() for n, a in nn.save(model).items())


def test_initial_numbers_follow_the_seed_alone():
    first, second = [nn.Initial(5, device="reference").uniform((100,), 2.0) for _ in range(2)]
    assert first.numpy().tobytes() == second.numpy().tobytes()
    assert first.value is not second.value
    assert -2 < first.numpy().min() < -1.5
    assert 1.5 < first.numpy().max() < 2
    assert first.numpy()[:3].tolist() == [
        1.2200117111206055,
        1.2317631244659424,
        0.061302244663238525,
    ]
