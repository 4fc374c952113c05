"""Whatever a public function is given: it works, or says what is wrong by an error of ours.

No raw error of Python's or NumPy's comes through (an AttributeError of something inside, say), but
Python's own for a call that does not have the right arguments at all.
"""

import inspect
from itertools import product

import numpy as np
import pytest

from compiler import Tensor, Variable, array_api, find_target, nn, open_device
from compiler.errors import CompilerError, ShapeError

KINDS = (ValueError, TypeError, IndexError, OverflowError)  # NumPy's


def tensor(data):
    return Tensor(np.asarray(data), device="reference")


MATRIX = tensor(np.arange(6.0).reshape(2, 3))
INTEGERS = tensor(np.arange(6).reshape(2, 3))
MASK = tensor(np.ones(3, bool))
CUBE = tensor(np.ones((4, 5, 6), np.float32))
WRONG = {
    "text": "a",
    "nothing": None,
    "an object": object(),
    "complex": 1j,
    "a dict": {},
    "ragged": [1, [2]],
    "texts": ("a", "b"),
    "a fraction": 1.5,
    "nan": float("nan"),
    "negative": -1,
    "zero": 0,
    "seven": 7,
    "a huge integer": 2**70,
    "an axis that is not there": (0, 9),
    "an axis twice": (0, 0),
    "a mask": MASK,
    "another shape": CUBE,
    "integers": INTEGERS,
}
FEW = ("text", "nothing", "negative", "a huge integer", "another shape")
OPERATORS = ("__add__", "__and__", "__eq__", "__getitem__", "__invert__", "__matmul__", "__pow__")
METHODS = [
    name
    for name in sorted(dir(Tensor))
    if (name in OPERATORS or not name.startswith("_"))
    and callable(getattr(Tensor, name))
    and not isinstance(inspect.getattr_static(Tensor, name), staticmethod)
]
STATICS = [
    name
    for name in sorted(vars(Tensor))
    if isinstance(inspect.getattr_static(Tensor, name), staticmethod)
]
FUNCTIONS = [
    name
    for name in array_api.__all__
    if callable(getattr(array_api, name)) and not inspect.isclass(getattr(array_api, name))
]
WITHOUT_ARRAYS = {"arange", "asarray", "can_cast", "empty", "eye", "finfo", "full", "iinfo"}
WITHOUT_ARRAYS |= {"isdtype", "linspace", "ones", "result_type", "zeros"}


def complaint(call, *arguments):
    """Why a call is refused; None where it is not. Fails for an error that is not ours."""
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001  # which kind it is, is the question
        found = error
    else:
        return None
    is_ours = isinstance(found, CompilerError) and isinstance(found, KINDS) and str(found)
    is_pythons = type(found) is TypeError and "argument" in str(found)  # too many, or too few
    assert is_ours or is_pythons, repr(found)
    return str(found)


def check(call, *first):
    complaint(call, *first)
    for wrong in WRONG.values():
        complaint(call, *first, wrong)
    for names in product(FEW, repeat=2):
        complaint(call, *first, *[WRONG[name] for name in names])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("subject", [MATRIX, MASK], ids=["matrix", "mask"])
def test_a_method_works_or_complains(name, subject):
    check(getattr(Tensor, name), subject)


@pytest.mark.parametrize("name", STATICS)
def test_a_function_of_the_class_works_or_complains(name):
    check(getattr(Tensor, name))


SEEDED = {
    "rand": {"shape": (2,)},
    "randn": {"shape": (2,)},
    "uniform": {"shape": (2,), "low": 0, "high": 1},
    "randint": {"shape": (2,), "low": 0, "high": 5},
    "permutation": {"count": 3},
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_function_with_a_seed_works_or_complains(name):
    call, given = getattr(Tensor, name), {**SEEDED[name], "seed": 1}
    for option, wrong in product(given, WRONG.values()):
        complaint(lambda option=option, wrong=wrong: call(**{**given, option: wrong}))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_the_namespace_works_or_complains(name):
    check(getattr(array_api, name))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - WITHOUT_ARRAYS))
def test_what_is_no_array_is_refused(name):
    call = getattr(array_api, name)
    refused = [complaint(call, wrong) for wrong in ("a", None, object())]
    refused += [complaint(call, wrong, wrong) for wrong in ("a", None, object())]
    assert None not in refused


IMAGE, KERNEL = tensor(np.ones((1, 2, 5, 6))), tensor(np.ones((2, 2, 3, 3)))
OPTIONS = {
    "conv": (IMAGE, KERNEL),
    "conv_transpose": (IMAGE, KERNEL),
    "max_pool": (IMAGE, (2, 2)),
    "avg_pool": (IMAGE, (2, 2)),
    "interpolate": (IMAGE, (2, 2)),
    "scaled_dot_product_attention": (MATRIX, MATRIX, MATRIX),
    "pad": (MATRIX, 1),
    "clip": (MATRIX,),
    "put_along_axis": (MATRIX, tensor([[0], [1]]), 1.0),
    "gradient": (MATRIX, MATRIX),
    "sum": (MATRIX,),
    "var": (MATRIX,),
    "sort": (MATRIX,),
    "roll": (MATRIX, 1),
    "diff": (MATRIX,),
    "cumsum": (MATRIX, 0),
    "full_like": (MATRIX, 1),
    "diagonal": (MATRIX,),
    "tensordot": (MATRIX, MATRIX),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_works_or_complains(name):
    call, given = getattr(Tensor, name), OPTIONS[name]
    options = list(inspect.signature(call).parameters)[len(given) :]
    for option, wrong in product(options, WRONG.values()):
        if option != "device":
            complaint(lambda option=option, wrong=wrong: call(*given, **{option: wrong}))


LAYERS = {
    "Linear": {"inputs": 2, "outputs": 2},
    "Embedding": {"count": 3, "size": 2},
    "Conv": {"inputs": 2, "outputs": 2, "kernel": (2, 2)},
    "BatchNorm": {"channels": 2},
    "GroupNorm": {"groups": 1, "channels": 2},
    "LSTMCell": {"inputs": 2, "size": 2},
    "GRUCell": {"inputs": 2, "size": 2},
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_works_or_complains(name):
    make, layer, given = nn.Initial(0, device="reference"), getattr(nn, name), LAYERS[name]
    for option, wrong in product(given, [*WRONG.values(), 10**40]):
        complaint(lambda option=option, wrong=wrong: layer(make, **{**given, option: wrong}))


@pytest.mark.parametrize("call", [nn.Initial, find_target, open_device, Tensor([1]).to])
def test_a_name_or_a_seed_works_or_complains(call):
    check(call)
    complaint(call, [])


def test_numbers_that_an_integer_dtype_does_not_hold_are_an_overflow():
    for call in (
        lambda: INTEGERS + 2**70,
        lambda: Tensor.full((2,), 300, dtype="uint8"),
        lambda: Tensor.full((2,), 2**70),
        lambda: Tensor.arange(2**70),
    ):
        with pytest.raises(OverflowError) as found:
            call()
        assert isinstance(found.value, CompilerError)


def test_a_filling_fraction_is_cut_off_like_numpys():
    for number in (1.5, -1.5):
        mine = Tensor.full((2,), number, dtype="int32", device="reference").numpy()
        assert np.array_equal(mine, np.full((2,), number, dtype="int32"))


def test_differences_of_a_high_order_are_empty():
    assert MATRIX.diff(axis=1, n=10**12).shape == (2, 0)


NOTHING = tensor(np.ones((0, 3)))
HUGE = {
    "tile": lambda x: x.tile((1, 2**62)),
    "repeat": lambda x: x.repeat(2**62, axis=1),
    "expand": lambda x: x.expand(2**62, -1, -1),
    "pad": lambda x: x.pad(((0, 0), (2**63, 0))),
    "reshape": lambda x: x[:0].reshape(0, 2**63),
    "zeros": lambda x: Tensor.zeros((2**62, 2), device="reference"),
    "eye": lambda x: Tensor.eye(2**40, device="reference"),
}


@pytest.mark.parametrize("subject", [MATRIX, NOTHING], ids=["matrix", "nothing"])
@pytest.mark.parametrize("name", HUGE)
def test_more_elements_than_have_a_number_are_refused(name, subject):
    with pytest.raises(ShapeError, match=r"shape .*: is too big"):
        HUGE[name](subject)


def test_nothing_has_no_billion_parts():
    assert [part.shape for part in NOTHING.split(3)] == [(0, 3)] * 3
    with pytest.raises(ShapeError, match="no 1000000000 equal parts"):
        NOTHING.split(10**9)


PAIR = np.array([1, 2])
ELEMENTS = {
    "keepdims": lambda: MATRIX.sum(keepdims=PAIR),
    "keepdims of a deviation": lambda: MATRIX.std(0, keepdims=MATRIX),
    "include_initial": lambda: MATRIX.cumsum(0, include_initial=PAIR),
    "descending": lambda: MATRIX.sort(descending=[False]),
    "largest": lambda: MATRIX.topk(2, largest=PAIR),
    "invert": lambda: MATRIX.isin(MATRIX, invert=PAIR),
    "endpoint": lambda: array_api.linspace(0, 1, 3, endpoint=PAIR),
    "side": lambda: MATRIX[0].searchsorted(MATRIX[1], side=PAIR),
    "indexing": lambda: array_api.meshgrid(MATRIX[0], indexing=PAIR),
    "device": lambda: array_api.full_like(MATRIX, 1, device=PAIR),
    "device of a tensor": lambda: Tensor([1], device=PAIR),
    "another device": lambda: MATRIX.to(PAIR),
    "dtype of an array": lambda: MATRIX.__array__(MATRIX),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_array_is_no_bool_and_no_text(name):
    with pytest.raises(CompilerError, match=r"^[^\n]*: (use|NumPy has none like it)[^\n]*$"):
        ELEMENTS[name]()


def test_a_symbolic_axis_is_counted_less_any_correction():
    symbolic = MATRIX.bind(Variable("n", 1, 9))
    for correction in (float("nan"), float("inf"), 0.5, -1, 2, 3):
        found, wanted = (x.var(0, correction=correction).numpy() for x in (symbolic, MATRIX))
        np.testing.assert_allclose(found, wanted)


def test_decimals_may_be_a_symbolic_size():
    symbolic = MATRIX.bind(Variable("n", 1, 9))
    assert (symbolic / 7).round(symbolic.shape[0]).tolist() == (MATRIX / 7).round(2).tolist()


def test_diagonals_far_outside_are_all_or_nothing():
    assert MATRIX.tril(10**12).tolist() == MATRIX.tolist()
    assert MATRIX.triu(10**12).tolist() == [[0, 0, 0], [0, 0, 0]]
