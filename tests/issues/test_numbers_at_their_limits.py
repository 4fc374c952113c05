"""Found by holding every function against NumPy at the limits of its dtypes.

`1e10 % 3` was 253 in float32, as the quotient has more digits than a float; uint64 and int64 met as
float64 and were equal where they are not; a Python integer that a dtype does not hold was an error
in a comparison, and wrapped silently in an assignment.
"""

import operator

import numpy as np
import pytest

from compiler import Tensor, array_api
from compiler.errors import CompilerError

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
FLOATS = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}


def same_bits(found, wanted):
    """Equal with the signs of zeros; NaNs are one value."""
    is_number = ~np.isnan(wanted)
    return np.array_equal(found, wanted, equal_nan=True) and np.array_equal(
        np.signbit(found)[is_number], np.signbit(wanted)[is_number]
    )


def pairs_of_floats(dtype):
    """Every pair of special numbers, and many of random bits."""
    info, bits = np.finfo(dtype), np.dtype(FLOATS[dtype])
    special = [0.0, -0.0, 1, -1, 2.5, 0.1, np.inf, -np.inf, np.nan, info.max, info.min]
    special = np.array([*special, info.tiny, info.smallest_subnormal], dtype)
    random = np.random.default_rng(3)
    most = np.iinfo(bits).max
    drawn = [random.integers(0, most, 1000, bits, endpoint=True).view(dtype) for _ in "ab"]
    crossed = [part.reshape(-1) for part in np.meshgrid(special, special)]
    return [np.concatenate(both) for both in zip(crossed, drawn, strict=True)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_division_with_a_rest_is_numpys_for_all_floats(device, dtype, name):
    a, b = pairs_of_floats(dtype)
    found = getattr(Tensor(a, device=device), name)(Tensor(b, device=device)).numpy()
    with np.errstate(all="ignore"):
        assert same_bits(found, getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("divisor", [3.0, -7.0, 1.0, 0.375, 1e-4, np.inf, 0.0])
def test_division_by_a_constant_is_numpys_for_all_floats(device, dtype, divisor):
    a, _ = pairs_of_floats(dtype)
    with np.errstate(all="ignore"):
        wanted = a % np.array(divisor, dtype)
    assert same_bits((Tensor(a, device=device) % divisor).numpy(), wanted)


@pytest.mark.parametrize("op", COMPARISONS)
def test_signed_and_unsigned_integers_compare_exactly(device, op):
    unsigned = np.array([0, 5, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    signed = np.array([-(2**63), -1, 0, 5, 2**63 - 1], np.int64)[:, None]
    for a, b in ((unsigned, signed), (signed, unsigned)):
        found = op(Tensor(a, device=device), Tensor(b, device=device))
        assert np.array_equal(found.numpy(), op(a, b))


def test_membership_tells_64_bit_integers_apart(device):
    unsigned = np.array([2**63, 2**63 - 1, 2**64 - 1, 7], np.uint64)
    signed = np.array([2**63 - 1, -1, 8], np.int64)
    for a, b in ((unsigned, signed), (signed, unsigned)):
        found = Tensor(a, device=device).isin(Tensor(b, device=device))
        assert found.tolist() == [int(x) in b.tolist() for x in a]


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
def test_a_number_beyond_a_dtype_compares_as_the_number_it_is(op, dtype):
    array = np.array([0, 1], dtype)
    for number in (2**64, 2**63, -1, -(2**63) - 1, 300, -(2**70)):
        mine = Tensor(array, device="reference")
        assert op(mine, number).tolist() == [op(int(x), number) for x in array]
        assert op(number, mine).tolist() == [op(number, int(x)) for x in array]


def test_a_quotient_by_a_number_beyond_the_dtype_is_a_float(device):
    mine = Tensor(np.array([1, -3], np.int8), device=device)
    assert (mine / 2**40).tolist() == [2.0**-40, -3 * 2.0**-40]
    assert (2**70 / mine).tolist() == [2.0**70, 2.0**70 / -3]


BYTES = Tensor(np.zeros(3, np.uint8), device="reference")
PLACES = Tensor(np.array([1]), device="reference")
NOT_HELD = {
    "assigned": lambda number: BYTES.__setitem__(0, number),
    "assigned by a mask": lambda number: BYTES.__setitem__(BYTES == 0, number),
    "put": lambda number: BYTES.put_along_axis(PLACES, number, 0),
    "padded with": lambda number: BYTES.pad(1, number),
    "filled with": lambda number: array_api.full_like(BYTES, number),
    "added": lambda number: BYTES + number,
    "counted to": lambda number: array_api.arange(0, number + 1, abs(number), dtype="uint8"),
}


@pytest.mark.parametrize("name", NOT_HELD)
@pytest.mark.parametrize("number", [256, 2**70, 10**5000], ids=["256", "2**70", "10**5000"])
def test_a_number_that_a_dtype_does_not_hold_is_an_overflow(name, number):
    with pytest.raises(OverflowError, match=r"uint8|beyond 64 bits") as found:
        NOT_HELD[name](number)
    assert isinstance(found.value, CompilerError)


def test_nan_is_no_integer_to_assign():
    with pytest.raises(ValueError, match="nan of uint8"):
        BYTES[0] = float("nan")


def test_an_integer_above_all_floats_is_an_overflow():
    with pytest.raises(OverflowError, match="1329 bits"):
        Tensor([1.0], device="reference") + 10**400


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8", "int64"])
def test_arange_reaches_both_ends_of_its_dtype(device, dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for ends in ((high - 2, high + 1), (low + 2, low - 1, -1), (low, high + 1, high // 2)):
        found = Tensor.arange(*ends, dtype=dtype, device=device)
        assert found.tolist() == list(range(*ends))


def test_numbers_at_equal_distances_round_down_as_integers(device):
    found = Tensor.linspace(-3.5, 2, 4, dtype="int32", device=device).numpy()
    assert np.array_equal(found, np.linspace(-3.5, 2, 4, dtype="int32"))


@pytest.mark.parametrize("name", ["copysign", "nextafter"])
@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("int16", "int8"), ("int64", "bool")])
def test_signs_and_neighbours_of_integers_are_floats(device, name, dtypes):
    a, b = np.array([3, 0, 1]).astype(dtypes[0]), np.array([-1, 1, 0]).astype(dtypes[1])
    found = getattr(Tensor(a, device=device), name)(Tensor(b, device=device)).numpy()
    wanted = getattr(np, name)(a, b)
    assert found.dtype == wanted.dtype
    assert same_bits(found, wanted)


def test_padding_with_minus_zero_keeps_its_sign(device):
    found = Tensor(np.ones(1), device=device).pad(1, -0.0).numpy()
    assert np.signbit(found).tolist() == [True, False, True]


def test_arrays_of_the_other_byte_order_are_read(device):
    array = np.arange(4, dtype=">i4")
    assert Tensor(array, device=device).tolist() == [0, 1, 2, 3]
