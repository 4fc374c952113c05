"""Result dtypes are NumPy's."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from compiler.errors import DTypeError
from compiler.frontend import dtypes
from compiler.ir import BFLOAT16, FLOAT16, FLOAT32, INT8

NUMPY = [dtypes.to_numpy(dtype) for dtype in dtypes.ALL if dtype is not BFLOAT16]
PYTHON = [True, 1, 1.5]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMPY, NUMPY)))
def test_two_arrays_meet_in_numpys_dtype(a, b):
    assert dtypes.to_numpy(dtypes.promote(dtypes.as_dtype(a), dtypes.as_dtype(b))) == (
        np.result_type(a, b)
    )


@pytest.mark.parametrize(("a", "number"), list(itertools.product(NUMPY, PYTHON)))
def test_python_numbers_adapt_as_in_numpy(a, number):
    found = dtypes.with_number(dtypes.as_dtype(a), number)
    assert dtypes.to_numpy(found) == (np.ones(1, a) + number).dtype


@pytest.mark.parametrize("a", NUMPY)
def test_functions_of_floats_convert_integers_as_numpy_does(a):
    assert dtypes.to_numpy(dtypes.float_of(dtypes.as_dtype(a))) == np.exp(np.zeros(1, a)).dtype


@pytest.mark.parametrize("a", NUMPY)
def test_sums_are_as_wide_as_numpys(a):
    assert dtypes.to_numpy(dtypes.sum_of(dtypes.as_dtype(a))) == np.ones(1, a).sum().dtype


def test_bfloat16_and_float16_meet_in_float32():
    assert dtypes.promote(BFLOAT16, FLOAT16) is FLOAT32
    assert dtypes.promote(BFLOAT16, INT8) is BFLOAT16


@pytest.mark.parametrize("spec", ["bfloat16", ml_dtypes.bfloat16, BFLOAT16])
def test_bfloat16_is_named_in_every_way(spec):
    assert dtypes.as_dtype(spec) is BFLOAT16


@pytest.mark.parametrize("spec", ["complex64", "U3", object, "nonsense", "datetime64[s]"])
def test_a_dtype_without_numbers_is_a_type_error_that_names_it(spec):
    with pytest.raises(DTypeError, match="tensors have none like it"):
        dtypes.as_dtype(spec)


def test_a_python_integer_out_of_bounds_is_an_overflow_error_as_in_numpy():
    with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
        dtypes.with_number(INT8, 300)
