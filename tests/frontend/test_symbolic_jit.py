"""Recorded programs with a symbolic size: other values, what they may not change, memory."""

import numpy as np
import pytest

from compiler import JitError, Tensor, Variable, jit, nn, optim
from compiler.errors import ShapeError
from compiler.frontend.schedule import split
from tests.frontend.symbolic_cases import ALL, compiles, constant, rows
from tests.frontend.test_jit import functions_called

BATCH = Variable("batch", 1, 64)


def bound(n, device="reference", variable=BATCH):
    return Tensor(rows(n), device=device).bind(variable)


@pytest.mark.parametrize("name", ALL)
def test_a_program_recorded_for_one_value_runs_for_all(name):
    program = jit(ALL[name])
    program(bound(7))
    for n in (64, 1, 8, 7):
        mine, wanted = program(bound(n)), ALL[name](bound(n))
        assert (mine.shape, mine.dtype) == (wanted.shape, wanted.dtype)
        assert mine.numpy().tobytes() == wanted.numpy().tobytes()


@pytest.mark.parametrize("device", ["llvm", pytest.param("opencl", marks=pytest.mark.slow)])
def test_devices_compute_launch_sizes_for_each_value(device):
    def function(x):
        scale = (x * x).sum(1).contiguous()
        return (x / scale[:, None]) @ weight, x[1:].sum(0)

    weight = Tensor(constant(60, 3), device=device)
    program = jit(function)
    program(bound(7, device))
    for n in (64, 1, 8):
        for mine, wanted in zip(program(bound(n, device)), function(bound(n, device)), strict=True):
            assert mine.numpy().tobytes() == wanted.numpy().tobytes()


def test_other_values_neither_compile_nor_schedule_nor_run_python():
    calls = []
    program = jit(lambda x: calls.append(1) or (x * 2).contiguous().softmax(0))
    program(bound(7))
    found = set()
    count = compiles(lambda: found.update(functions_called(lambda: program(bound(9)))))
    assert (len(calls), count) == (1, 0)
    assert split.__code__ not in found


def test_earlier_results_stay_as_they_were():
    program = jit(lambda x: (x * 2).contiguous() + 1)
    results = [program(bound(n)) for n in (7, 64, 3)]
    for n, result in zip((7, 64, 3), results, strict=True):
        assert np.array_equal(result.numpy(), rows(n) * 2 + 1)


def test_scratch_is_allocated_once_for_the_greatest_value():
    program = jit(lambda x: (x * 2).contiguous().sum(0))
    for n in (3, 64, 9):
        program(bound(n))
    buffers = [buffer for buffer in program.recorded.plan.buffers if buffer is not None]
    assert [buffer.size for buffer in buffers] == [64 * 60]


def test_python_code_that_a_value_decides_is_right_where_it_decides_the_same():
    program = jit(lambda x: x * 2 if x.shape[0] < 30 else x * 3)
    program(bound(7))
    assert np.array_equal(program(bound(29)).numpy(), rows(29) * 2)
    with pytest.raises(
        JitError, match=r"recorded with batch = 7 and .* batch < 30, now batch = 30"
    ):
        program(bound(30))


@pytest.mark.parametrize(
    "use",
    [
        lambda n: sum(1 for _ in range(n)),
        lambda n: len(np.zeros(n)),
        lambda n: len([0] * n),
        lambda n: len("abcdefghi"[:n]),
        lambda n: float(n),
        lambda n: int(np.asarray(n)),
        lambda n: int(np.arange(2) @ np.array([n, n])),
    ],
)
def test_a_size_that_became_a_plain_number_keeps_its_value(use):
    program = jit(lambda x: x * use(x.shape[0]))
    assert np.array_equal(program(bound(7)).numpy(), rows(7) * 7)
    with pytest.raises(JitError, match="is right where batch = 7, now batch = 8"):
        program(bound(8))


def test_a_size_used_as_a_number_follows_its_value():
    program = jit(lambda x: x * x.shape[0])
    program(bound(7))
    assert np.array_equal(program(bound(8)).numpy(), rows(8) * 8)


def test_a_constant_of_the_variable_keeps_its_value():
    other = bound(7)
    program = jit(lambda x: x + other)
    program(bound(7))
    with pytest.raises(JitError, match=r"is right where \(batch \* 60\) = 420, now batch = 8"):
        program(bound(8))


def test_a_function_may_bind_plain_arguments():
    program = jit(lambda x: x.bind(BATCH).sum(0))
    plain = [Tensor(rows(7), device="reference") + k for k in (0, 1)]
    for x in plain:
        assert np.array_equal(program(x).numpy(), x.sum(0).numpy())
    with pytest.raises(JitError, match=r"is float32\[8, 60\]"):
        program(Tensor(rows(8), device="reference"))


@pytest.mark.parametrize("other", [Variable("batch", 1, 65), Variable("rows", 1, 64)])
def test_another_variable_is_another_program(other):
    program = jit(lambda x: x + 1)
    program(bound(7))
    with pytest.raises(JitError, match="argument 0 is"):
        program(bound(7, variable=other))
    with pytest.raises(JitError, match=r"argument 0 is float32\[7, 60\]"):
        program(Tensor(rows(7), device="reference"))


def test_arguments_have_one_value_of_a_variable():
    program = jit(lambda x, y: x.sum() + y.sum())
    program(bound(7), bound(7))
    with pytest.raises(ShapeError, match="is bound to 8 and to 9"):
        program(bound(8), bound(9))


def test_state_may_be_symbolic():
    total = bound(2) * 0

    @jit(state=[total])
    def add(x):
        nonlocal total
        total += x
        return total.sum(0)

    add(bound(2))
    add(bound(2))
    assert np.allclose(total.numpy(), rows(2) * 2)


def test_training_takes_a_smaller_last_batch():
    def model():
        make = nn.Initial(seed=0, device="reference")
        layers = [nn.Linear(make, 60, 4), nn.Linear(make, 4, 2)]
        optimizer = optim.SGD(nn.parameters(layers), learning_rate=0.1)
        return optimizer, lambda x: optim.minimize(
            (layers[1](layers[0](x).tanh()) ** 2).mean(), optimizer
        )

    optimizer, step = model()
    program = jit(step, state=optimizer.state)
    _, plain = model()
    losses = [[program(bound(n)).item(), plain(Tensor(rows(n), device="reference")).item()]
              for n in (8, 8, 3, 8)]  # fmt: skip
    assert [a for a, _ in losses] == [b for _, b in losses]
