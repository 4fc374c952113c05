"""Tensors out of Python's and NumPy's objects, and back."""

import copy
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from compiler import Tensor, nn
from compiler.errors import DeviceError, DTypeError, ShapeError


def reference(data, dtype=None):
    return Tensor(data, dtype, device="reference")


@pytest.mark.parametrize("data", [1, 2.5, True, [1, 2], [[1.0], [2]], [True, False], (), [[]]])
def test_lists_and_numbers_have_numpys_dtype_and_shape(data):
    found, wanted = reference(data).numpy(), np.asarray(data)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["uint64", "int8", "float16", "bfloat16", "bool", "float64"])
def test_a_dtype_given_is_the_dtype(dtype):
    assert reference([1, 2], dtype).dtype == np.dtype(
        dtype if dtype != "bfloat16" else ml_dtypes.bfloat16
    )


def test_integers_beyond_int64_are_kept_for_uint64():
    assert reference([2**64 - 1], "uint64").numpy()[0] == 2**64 - 1


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, ml_dtypes.bfloat16])
def test_arrays_come_back_as_they_were(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = reference(array).numpy()
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)


def test_strided_arrays_are_read_in_their_order():
    array = np.arange(24).reshape(4, 6)[::-2, 1::2]
    assert np.array_equal(reference(array).numpy(), array)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (["a"], DTypeError, "U1"),
        ([1j], DTypeError, "complex128"),
        ([None], DTypeError, "object"),
        ([[1], [1, 2]], ShapeError, "inhomogeneous"),
    ],
)
def test_what_has_no_numbers_is_refused_by_kind(data, error, message):
    with pytest.raises(error, match=message):
        reference(data)


def test_a_number_out_of_bounds_of_its_dtype_is_refused():
    with pytest.raises(DTypeError, match="300"):
        reference([300], "int8")


def test_one_element_is_a_python_number():
    x = reference([[7]])
    assert (x.item(), int(x), float(x), bool(x)) == (7, 7, 7.0, True)
    assert list(range(10))[reference(3)] == 3


def test_more_elements_are_no_number():
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        bool(reference([1, 2]))


def test_numpy_reads_tensors():
    x = reference([1.5, 2.5])
    assert np.asarray(x).tolist() == [1.5, 2.5]
    assert np.asarray(x, np.int32).tolist() == [1, 2]
    assert x.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16"])
def test_numpy_reads_the_dtype_of_a_tensor(dtype):
    x = Tensor([0, 1], dtype=dtype, device="reference")
    found = np.asarray(x), np.array(x), x.__array__(), x.__array__(None)
    assert {str(array.dtype) for array in found} == {dtype}


def test_a_dtype_that_is_none_is_refused():
    with pytest.raises(DTypeError, match="array of dtype 'foo'"):
        reference([1]).__array__("foo")


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"dl_device": "cpu"}, DTypeError),
        ({"dl_device": (1,)}, DTypeError),
        ({"max_version": 3}, DTypeError),
        ({"stream": 1}, DeviceError),
        ({"dl_device": (2, 0)}, BufferError),  # the standard's error for what is not there
        ({"copy": False}, BufferError),
    ],
    ids=str,
)
def test_a_dlpack_option_is_refused_by_what_it_is(options, kind):
    with pytest.raises(kind, match=r"dlpack|stream"):
        reference([1.0]).__dlpack__(**options)


def test_what_is_in_an_array_is_what_equals_an_element():
    array = np.array([[1.0, np.nan], [3.0, -0.0]])
    x = Tensor(array, device="reference")
    for number in (1, 3.0, 0.0, 2.5, np.nan):
        assert (number in x) is (number in array)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "bfloat16"])
def test_what_is_no_real_number_is_in_an_array_where_numpy_says_so(tensor, dtype):
    x = tensor([0, 1], dtype=dtype)
    for thing in ("a", b"a", None, 1j, 1 + 0j, Fraction(1, 2), Fraction(1), {}, ...):
        assert (thing in x) is (thing in x.numpy().astype(np.float64))
    for array in (["a"], np.array([1j])):
        with pytest.raises(DTypeError, match=r"dtype (<U1|complex128)"):
            _ = array in x


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8"])
def test_an_integer_beyond_a_dtype_is_in_no_array_of_it(dtype):
    assert 2**70 not in reference([0, 1], dtype=dtype)


def test_length_is_the_first_axis():
    assert len(reference(np.zeros((3, 2)))) == 3
    with pytest.raises(TypeError, match="no axis"):
        len(reference(1))


def test_the_repr_says_what_it_is_and_computes_nothing():
    assert repr(reference(np.zeros((2, 3), np.int8)) + 1) == "<Tensor int8[2, 3] on reference>"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(tensor, copied):
    x = tensor([1.0, 2.0])
    model = {"weight": x}
    other = copied(model["weight"])
    other[0] = 9.0
    x[1] = 7.0
    assert (x.tolist(), other.tolist()) == ([1.0, 7.0], [9.0, 2.0])


def test_a_model_is_copied_with_its_tensors(device):
    model = [nn.Linear(nn.Initial(seed=0, device=device), 2, 3)]
    other = copy.deepcopy(model)
    (weight, *_), (copied, *_) = nn.parameters(model), nn.parameters(other)
    weight *= 2
    assert np.array_equal(weight.numpy(), copied.numpy() * 2)
