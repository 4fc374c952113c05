"""Inputs: the same everywhere, and of the kinds they claim to be."""

import hashlib

import ml_dtypes
import numpy as np
import pytest

from replay.numerics.inputs import Kind, Slot, make_sample, shrink_to_fit, storage, variable_choices

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
FLOATS = DTYPES[-4:]


def numbers(dtype: str, kind: Kind, size: int = 2000, **how: int) -> np.ndarray:
    sample = make_sample("seed", kind, (Slot("a", dtype, size, True, False),), {}, **how)
    content = sample.contents[0]
    assert content is not None
    assert content.dtype == storage(dtype)
    return content.view(ml_dtypes.bfloat16) if dtype == "bfloat16" else content


def test_inputs_are_the_same_on_every_machine():
    """Recorded once: numeric digests of records depend on these bytes for ever."""
    state = hashlib.sha256()
    for dtype in DTYPES:
        for kind in Kind:
            for attempt in range(3):
                state.update(numbers(dtype, kind, 97, terms=10, attempt=attempt).tobytes())
    assert state.hexdigest()[:32] == "55c317e5b2a58342b32ae26f1e6f1389"


def test_another_seed_kind_attempt_or_buffer_gives_other_numbers():
    slots = (Slot("a", "float32", 50, True, False), Slot("b", "float32", 50, True, False))
    base = make_sample("seed", Kind.DENSE, slots, {})
    others = [
        make_sample("other", Kind.DENSE, slots, {}),
        make_sample("seed", Kind.GRID, slots, {}),
        make_sample("seed", Kind.DENSE, slots, {}, attempt=1),
    ]
    assert base.contents[0].tolist() != base.contents[1].tolist()
    assert all(other.contents[0].tolist() != base.contents[0].tolist() for other in others)


def test_a_buffer_that_is_only_written_has_no_contents():
    sample = make_sample("seed", Kind.GRID, (Slot("a", "float32", 5, False, True),), {})
    assert sample.contents == (None,)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("terms", [1, 100, 100_000])
def test_a_grid_is_of_few_bits_never_zero_and_below_two(dtype, terms):
    x = numbers(dtype, Kind.GRID, terms=terms).astype(np.float64)
    assert np.all(x != 0)
    assert np.abs(x).max() < 2
    step = np.abs(x).min()
    assert np.array_equal(np.rint(x / step) * step, x)
    assert len(np.unique(x)) > 4


@pytest.mark.parametrize("terms", [10, 1000, 100_000])
def test_sums_of_products_of_grid_numbers_are_exact_in_float32(terms):
    x, y = (numbers("float32", Kind.GRID, terms, terms=terms, attempt=a) for a in (0, 0))
    exact = (x.astype(np.float64) * y).sum()
    total = np.float32(0)
    for a, b in zip(x[:1000], y[:1000], strict=True):
        total += a * b
    assert np.float32(exact) == exact
    assert float(total) == (x[:1000].astype(np.float64) * y[:1000]).sum()


@pytest.mark.parametrize("dtype", FLOATS)
def test_dense_numbers_use_the_whole_mantissa(dtype):
    x = numbers(dtype, Kind.DENSE)
    bits = x.view(f"u{x.dtype.itemsize}")
    assert 0.4 < np.mean(bits & 1) < 0.6
    magnitudes = np.abs(x.astype(np.float64))
    assert magnitudes.min() >= 0.25
    assert magnitudes.max() < 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_numbers_include_all_that_break_things(dtype):
    x = numbers(dtype, Kind.SPECIAL).astype(np.float64)
    assert np.isnan(x).any()
    assert {np.inf, -np.inf} <= set(x[np.isinf(x)])
    assert {True, False} == set(np.signbit(x[x == 0]))
    limit = ml_dtypes.finfo(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.finfo(dtype)
    assert np.abs(x[np.isfinite(x)]).max() == float(limit.max)
    assert np.nanmin(np.abs(x[x != 0])) == float(limit.smallest_subnormal)


def test_special_numbers_are_thin_in_long_sums_and_never_absent():
    x = numbers("float32", Kind.SPECIAL, 10_000, terms=1000)
    assert 1 <= np.count_nonzero(~np.isfinite(x)) < 20
    y = numbers("float32", Kind.SPECIAL, 3, terms=100_000)
    dense = numbers("float32", Kind.DENSE, 3)
    assert y.dtype == dense.dtype


@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_integers_meet_their_limits(dtype):
    x, info = numbers(dtype, Kind.SPECIAL), np.iinfo(dtype)
    assert x.min() == info.min
    assert x.max() == info.max


@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_many_grid_integers_are_small_enough_to_be_an_index(dtype):
    x = numbers(dtype, Kind.GRID)
    small = (x >= 0) & (x < 8)
    assert np.count_nonzero(small) > 900
    assert set(range(8)) <= set(x[small].tolist())


def test_variables_are_tried_low_high_and_in_the_middle():
    assert variable_choices({"n": (2, 9), "m": (1, 1)}) == (
        {"n": 2, "m": 1},
        {"n": 9, "m": 1},
        {"n": 5, "m": 1},
    )


def test_a_choice_is_not_tried_twice_and_no_variable_is_one_choice():
    assert variable_choices({"n": (4, 4)}) == ({"n": 4},)
    assert variable_choices({}) == ({},)


def test_a_choice_that_needs_too_much_memory_is_lowered():
    limits = {"n": (1, 1 << 30)}
    chosen = shrink_to_fit({"n": 1 << 30}, limits, lambda v: v["n"] * 4, 1 << 20)
    assert 1 << 17 <= chosen["n"] <= 1 << 18
    assert shrink_to_fit({"n": 7}, limits, lambda v: v["n"] * 4, 1 << 20) == {"n": 7}
