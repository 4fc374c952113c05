"""The array API standard 2024.12: every name with its parameters, and NumPy's answers."""

import inspect

import numpy as np
import pytest

from compiler import Tensor, array_api

# Name -> parameters, as the standard has them; imag is not there, nor are complex dtypes.
SIGNATURES = {
    **dict.fromkeys(
        (
            *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil"),
            *("cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p"),
            *("log2", "log10", "logical_not", "negative", "positive", "reciprocal", "round"),
            *("sign", "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh", "trunc"),
            *("conj", "real"),
            *("matrix_transpose", "nonzero", "unique_all", "unique_counts", "unique_inverse"),
            "unique_values",
        ),
        "x",
    ),
    **dict.fromkeys(
        (
            *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_xor"),
            *("bitwise_right_shift", "copysign", "divide", "equal", "floor_divide", "greater"),
            *("greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and"),
            *("logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter"),
            *("not_equal", "pow", "remainder", "subtract", "matmul"),
        ),
        "x1 x2",
    ),
    "clip": "x min max",
    "where": "condition x1 x2",
    "asarray": "obj dtype device copy",
    "arange": "start stop step dtype device",
    "empty": "shape dtype device",
    "empty_like": "x dtype device",
    "eye": "n_rows n_cols k dtype device",
    "from_dlpack": "x device copy",
    "full": "shape fill_value dtype device",
    "full_like": "x fill_value dtype device",
    "linspace": "start stop num dtype device endpoint",
    "meshgrid": "arrays indexing",
    "ones": "shape dtype device",
    "ones_like": "x dtype device",
    "tril": "x k",
    "triu": "x k",
    "zeros": "shape dtype device",
    "zeros_like": "x dtype device",
    "astype": "x dtype copy device",
    "can_cast": "from_ to",
    "finfo": "type",
    "iinfo": "type",
    "isdtype": "dtype kind",
    "result_type": "arrays_and_dtypes",
    "take": "x indices axis",
    "take_along_axis": "x indices axis",
    "tensordot": "x1 x2 axes",
    "vecdot": "x1 x2 axis",
    "broadcast_arrays": "arrays",
    "broadcast_to": "x shape",
    "concat": "arrays axis",
    "expand_dims": "x axis",
    "flip": "x axis",
    "moveaxis": "x source destination",
    "permute_dims": "x axes",
    "repeat": "x repeats axis",
    "reshape": "x shape copy",
    "roll": "x shift axis",
    "squeeze": "x axis",
    "stack": "arrays axis",
    "tile": "x repetitions",
    "unstack": "x axis",
    "argmax": "x axis keepdims",
    "argmin": "x axis keepdims",
    "count_nonzero": "x axis keepdims",
    "searchsorted": "x1 x2 side sorter",
    "argsort": "x axis descending stable",
    "sort": "x axis descending stable",
    "cumulative_prod": "x axis dtype include_initial",
    "cumulative_sum": "x axis dtype include_initial",
    **dict.fromkeys(("max", "min"), "x axis keepdims"),
    **dict.fromkeys(("sum", "prod"), "x axis dtype keepdims"),
    "mean": "x axis keepdims",
    "std": "x axis correction keepdims",
    "var": "x axis correction keepdims",
    "all": "x axis keepdims",
    "any": "x axis keepdims",
    "diff": "x axis n prepend append",
}
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_has_the_parameters_of_the_standard(name):
    parameters = list(inspect.signature(getattr(array_api, name)).parameters)
    missing = [p for p in SIGNATURES[name].split() if p not in parameters]
    positional = ("x", "x1", "x2", "obj")  # cannot be given by name
    assert [p for p in missing if p not in positional] == []


@pytest.mark.parametrize("name", [*CONSTANTS, *DTYPES, *SIGNATURES])
def test_every_name_is_public(name):
    assert name in array_api.__all__
    assert hasattr(array_api, name)


def test_a_tensor_names_its_namespace():
    namespace = Tensor([1.0]).__array_namespace__(api_version="2024.12")
    assert namespace is array_api
    with pytest.raises(ValueError, match=r"array API 1999.12: this is 2021.12, .*2024.12"):
        Tensor([1.0]).__array_namespace__(api_version="1999.12")


def test_no_module_of_ours_looks_like_an_extension():
    for name in ("linalg", "fft"):
        assert not hasattr(array_api, name)


def test_the_conjugate_and_the_real_part_of_real_numbers_are_themselves(tensor, check):
    x = np.array([-1.5, 2.0])
    check(array_api.conj(tensor(x)), x)
    check(array_api.real(tensor(x)), x)


COPIES = {
    "asarray": lambda x: array_api.asarray(x, copy=True),
    "astype": lambda x: array_api.astype(x, x.dtype),
    "from_dlpack": lambda x: array_api.from_dlpack(x, copy=True),
    "reshape": lambda x: array_api.reshape(x, x.shape, copy=True),
    "positive": array_api.positive,
    "a method": lambda x: x.astype(x.dtype),
}


@pytest.mark.parametrize("name", COPIES)
def test_what_is_assigned_to_a_copy_does_not_show_in_the_original(tensor, name):
    x = tensor([1.0, 2.0])
    copied = COPIES[name](x)
    copied[0] = 9.0
    assert (x.tolist(), copied.tolist()) == ([1, 2], [9, 2])


def test_without_a_copy_the_tensor_itself_is_given_or_it_is_an_error(tensor):
    x = tensor([1.0, 2.0])
    assert array_api.asarray(x) is x
    assert array_api.asarray(x, copy=False) is x
    assert array_api.astype(x, array_api.float64, copy=False) is x
    with pytest.raises(ValueError, match="has to be converted"):
        array_api.asarray(x, dtype=array_api.int8, copy=False)


def standardize(x):
    """A function of any library, as programs written to the standard are."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0, keepdims=True)
    scale = xp.std(x, axis=0, keepdims=True)
    largest = xp.argmax(xp.abs(centred), axis=1)
    picked = xp.take_along_axis(centred, xp.expand_dims(largest, axis=1), axis=1)
    return xp.concat([centred / scale, xp.astype(picked, x.dtype)], axis=1)


def test_a_program_written_to_the_standard_runs(tensor, random, check):
    x = random.normal(size=(7, 3))
    check(standardize(tensor(x)), standardize(x), rtol=1e-12)


def test_dtypes_are_numpys_objects(tensor):
    for name in DTYPES:
        assert tensor(np.zeros(2, name)).dtype == getattr(array_api, name)


def test_limits_are_numpys():
    for name in ("float32", "float64"):
        ours, theirs = array_api.finfo(getattr(array_api, name)), np.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (
            theirs.bits,
            theirs.eps,
            theirs.max,
            theirs.min,
        )
    for name in ("int8", "uint64"):
        ours, theirs = array_api.iinfo(getattr(array_api, name)), np.iinfo(name)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)


@pytest.mark.parametrize(
    "kind", ["bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"]
)
def test_kinds_of_dtypes_are_numpys(kind):
    for name in DTYPES:
        assert array_api.isdtype(np.dtype(name), kind) == np.isdtype(np.dtype(name), kind)


def test_promotion_is_numpys():
    for a in DTYPES:
        for b in DTYPES:
            assert array_api.result_type(np.dtype(a), np.dtype(b)) == np.result_type(a, b)
    assert array_api.result_type(array_api.int8, 3) == np.int8
    assert not array_api.can_cast(array_api.int64, array_api.int32)
    assert array_api.can_cast(array_api.int32, array_api.int64)


def test_the_namespace_says_what_it_can_do():
    info = array_api.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"]
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_dtypes()["indexing"] == np.int64


def test_dlpack_goes_both_ways(tensor, check):
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.from_dlpack(tensor(x)), x)
    check(array_api.from_dlpack(x), x)


def test_dlpack_refuses_to_share(tensor):
    with pytest.raises(BufferError, match="always a copy"):
        tensor([1.0]).__dlpack__(copy=False)


def test_numpy_reads_a_tensor_as_an_array(tensor):
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.asarray(tensor(x)), x)
    assert np.asarray(tensor(x), np.int8).dtype == np.int8


def test_an_array_that_changes_later_does_not_change_the_tensor(tensor, check):
    x = np.arange(3.0)
    made = tensor(x)
    x[0] = 9
    check(made + 0, [0.0, 1.0, 2.0])


UNARY = [
    *("abs", "ceil", "exp", "floor", "isfinite", "isinf", "isnan", "negative", "positive", "round"),
    *("sign", "signbit", "square", "trunc", "reciprocal", "atan", "asinh", "tanh"),
]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array_are_numpys(tensor, check, name):
    x = np.array([-2.5, -1.0, 0.5, 1.5, np.inf, np.nan, 3.0])
    check(getattr(array_api, name)(tensor(x)), getattr(np, name)(x), rtol=1e-14)


BINARY = [
    *("add", "atan2", "copysign", "divide", "equal", "greater", "greater_equal", "hypot", "less"),
    *("less_equal", "logaddexp", "maximum", "minimum", "multiply", "nextafter", "not_equal"),
    *("floor_divide", "remainder", "subtract", "logical_and", "logical_or", "logical_xor"),
]


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays_are_numpys(tensor, check, name):
    a = np.array([[-2.5], [1.0], [3.25], [0.5]])
    b = np.array([1.5, -2.0, 4.0])
    check(getattr(array_api, name)(tensor(a), tensor(b)), getattr(np, name)(a, b), rtol=1e-14)


MANY = {
    "clip": lambda xp, x: xp.clip(x, 1, 6),
    "concat": lambda xp, x: xp.concat([x, x], axis=None),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "diff": lambda xp, x: xp.diff(x, axis=0, n=1, prepend=x[:1, :]),
    "diff of order 2": lambda xp, x: xp.diff(x, n=2),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "flip": lambda xp, x: xp.flip(x, axis=1),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "repeat": lambda xp, x: xp.repeat(x, 3, axis=1),
    "roll": lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1)),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[0, :]), x, side="right"),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "std": lambda xp, x: xp.std(xp.astype(x, xp.float64), axis=1, correction=1),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "argsort": lambda xp, x: xp.argsort(x, axis=1, stable=True),
    "sum": lambda xp, x: xp.sum(x, axis=(0, 1), keepdims=True),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0, -1]), axis=1),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((0,), (0,))),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tril": lambda xp, x: xp.tril(x, k=-1),
    "vecdot": lambda xp, x: xp.vecdot(x, x, axis=0),
    "where": lambda xp, x: xp.where(x > 4, x, 0),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, axis=1),
    "unique_values": lambda xp, x: xp.sort(xp.unique_values(x)),
    "argmax": lambda xp, x: xp.argmax(x, axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", MANY)
def test_functions_with_options_are_numpys(device, check, name):
    x = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9]])

    class _Here:  # the namespace, on the device under test
        def __getattr__(self, attribute):
            return getattr(array_api, attribute)

        def asarray(self, data):
            return Tensor(data, device=device)

    expected = MANY[name](np, x)
    if "count" in name or "arg" in name:
        expected = np.asarray(expected, np.int64)
    check(MANY[name](_Here(), Tensor(x, device=device)), expected, rtol=1e-13)


def test_creation_is_numpys(check):
    for made, wanted in (
        (array_api.arange(3), np.arange(3)),
        (array_api.arange(5, 1, -2, dtype=array_api.int8), np.arange(5, 1, -2, dtype=np.int8)),
        (array_api.arange(0, 1, 0.25), np.arange(0, 1, 0.25)),
        (array_api.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (array_api.eye(2, 3, k=1), np.eye(2, 3, k=1)),
        (array_api.eye(2, 3, dtype=array_api.bool), np.eye(2, 3, dtype=bool)),
        (array_api.full((2,), 3), np.full(2, 3)),
        (array_api.zeros(2, device=None), np.zeros(2)),
        (array_api.ones((1, 2), dtype=array_api.uint8), np.ones((1, 2), np.uint8)),
    ):
        check(made.to("reference"), wanted)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids_are_numpys(tensor, check, indexing):
    axes = [np.arange(n) for n in (2, 3, 4)]
    found = array_api.meshgrid(*[tensor(axis) for axis in axes], indexing=indexing)
    for ours, theirs in zip(found, np.meshgrid(*axes, indexing=indexing), strict=True):
        check(ours, theirs)


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (None, 1000), (-5, None), (2, 999)])
def test_bounds_beyond_the_ends_of_a_dtype_bound_nothing(tensor, check, low, high):
    x = np.array([1, 5, 255], np.uint8)
    check(array_api.clip(tensor(x), low, high), np.clip(x, low, high))


def test_bounds_that_a_dtype_cannot_hold_are_numpys_error(tensor):
    x = np.array([1, 5], np.uint8)
    for low, high in ((300, 400), (-5, -2)):
        with pytest.raises(OverflowError):
            np.clip(x, low, high)
        with pytest.raises(OverflowError):
            array_api.clip(tensor(x), low, high)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_to_bool_are_refused_as_a_dtype(tensor, name):
    with pytest.raises(TypeError, match="to bool"):
        getattr(array_api, name)(tensor([1, 2]), dtype=array_api.bool)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums_of_several_axes_name_one(tensor, name):
    with pytest.raises(ValueError, match=r"of shape \(2, 3\): name an axis"):
        getattr(array_api, name)(tensor(np.ones((2, 3))))
    assert getattr(array_api, name)(tensor([1, 2, 3])).shape == (3,)


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("name", ["sum", "product"])
def test_a_running_sum_without_an_axis_says_what_it_lacks(tensor, name, axis):
    of = {"sum": array_api.cumulative_sum, "product": array_api.cumulative_prod}[name]
    with pytest.raises(ValueError, match=rf"^running {name} of shape \(\): .* one dimension$"):
        of(tensor(3.0), axis=axis)
