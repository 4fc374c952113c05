"""Random numbers: the published generator, the same everywhere, with the right distribution."""

import mpmath
import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.functions import random as ours
from compiler.frontend.functions.normal import normal
from compiler.frontend.tensor import wrap

KNOWN = [  # key, counter, result: the known answers that Random123 publishes for threefry2x32-20
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "result"), KNOWN)
def test_threefry_gives_the_published_answers(tensor, key, counter, result):
    words = ours.threefry(key, *[tensor(np.array([word], np.uint32)).value for word in counter])
    assert tuple(int(wrap(word)) for word in words) == result


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["rand", "randn", "uniform"])
def test_numbers_do_not_depend_on_the_device(device, name, dtype):
    draw = getattr(Tensor, name)
    found = [draw((3000,), seed=5, dtype=dtype, device=each).numpy() for each in (device, "llvm")]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_are_those_of_box_and_muller(tensor, dtype):
    least = float(np.finfo(dtype).epsneg)  # uniform numbers are multiples of it
    ends = [0.0, least, 0.25, 0.2928932, 0.2928933, 0.5, 0.75, 1 - 2 * least, 1 - least]
    grid = np.concatenate([ends, np.random.default_rng(2).random(500)]) // least * least
    first, second = np.roll(grid, 1), np.roll(grid, 7)
    with mpmath.workdps(40):
        lengths = [mpmath.sqrt(-2 * mpmath.log(1 - mpmath.mpf(x))) for x in first]
        cosines = [mpmath.cospi(2 * mpmath.mpf(x)) for x in second]
        exact = np.array([float(a * b) for a, b in zip(lengths, cosines, strict=True)])
    found = normal(*[tensor(column.astype(dtype)).value for column in (first, second)])
    error = np.abs(wrap(found).numpy().astype(np.float64) - exact)
    assert np.max(error / np.spacing(np.abs(exact).astype(dtype))) <= 4


def test_seeds_differ(device):
    a, b = [Tensor.rand((50,), seed=seed, device=device).numpy() for seed in (1, 2)]
    assert not np.any(a == b)


def test_a_longer_draw_begins_like_a_shorter_one(device):
    short, long = [Tensor.rand((n,), seed=1, device=device).numpy() for n in (7, 40)]
    assert np.array_equal(short, long[:7])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_numbers_fill_the_unit_interval(device, dtype):
    x = Tensor.rand((4000,), seed=3, dtype=dtype, device=device).numpy().astype(np.float64)
    assert 0 <= x.min() < 0.01
    assert 0.99 < x.max() < 1
    assert abs(x.mean() - 0.5) < 0.02


def test_normal_numbers_have_mean_0_and_variance_1(device):
    x = Tensor.randn((4000,), seed=3, device=device).numpy()
    assert abs(x.mean()) < 0.05
    assert abs(x.var() - 1) < 0.05


def test_integers_stay_in_their_range_and_reach_its_ends(device):
    x = Tensor.randint((500,), -2, 4, seed=1, dtype="int8", device=device).numpy()
    assert x.dtype == np.int8
    assert set(x) == {-2, -1, 0, 1, 2, 3}


RANGES = {
    dtype: np.iinfo(dtype) for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64")
}


@pytest.mark.parametrize("dtype", RANGES)
def test_integers_may_be_all_of_a_dtype_or_two_at_either_end(device, dtype):
    low, high = int(RANGES[dtype].min), int(RANGES[dtype].max) + 1
    for ends in ((low, high), (low, low + 2), (high - 2, high)):
        x = Tensor.randint((200,), *ends, seed=1, dtype=dtype, device=device).numpy()
        assert x.dtype == dtype
        found = {int(n) for n in x}
        assert found <= set(range(*ends)) if ends[1] - ends[0] == 2 else len(found) > 100
        assert len(found) >= 2


def test_a_permutation_names_everything_once(device):
    x = Tensor.permutation(20, seed=4, device=device).numpy()
    assert sorted(x) == list(range(20))
    assert list(x) != list(range(20))


def test_integers_of_no_range_are_refused():
    with pytest.raises(ValueError, match="integers from 3 to 3 of int64: there are none"):
        Tensor.randint((2,), 3, 3, seed=1)


def test_random_integers_as_floats_are_refused():
    with pytest.raises(TypeError, match="random numbers of int32: use a float, or randint"):
        Tensor.rand((2,), seed=1, dtype="int32")
