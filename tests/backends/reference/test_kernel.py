"""ASTs: views, masks, reductions, boxes and the contents of the written buffers."""

import numpy as np
import pytest
from asts import (
    alu,
    buffer,
    by_hand,
    contiguous,
    elementwise,
    load,
    masked_const,
    matmul,
    reduce,
    reduction,
    sink,
    store,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.backends.reference import evaluate, kernel
from compiler.errors import DeviceError
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT64,
    Op,
    View,
    const,
    intern,
)  # fmt: skip


def numbers(seed: int, size: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).integers(-20, 20, size).astype(dtype)


def test_a_row_sum_is_the_sum_of_each_row():
    x = numbers(0, 12 * 7).reshape(12, 7)
    assert np.array_equal(evaluate(reduction(Op.ADD, FLOAT32, 12, 7), {1: x})[0], x.sum(1))


def test_a_matmul_is_numpys():
    a, b = numbers(1, 30).reshape(5, 6), numbers(2, 42).reshape(6, 7)
    result = evaluate(matmul(5, 7, 6, FLOAT32), {1: a, 2: b})[0]
    assert np.array_equal(result.reshape(5, 7), a @ b)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint64"])
def test_an_integer_matmul_wraps(dtype):
    ir = {"int8": INT8, "int32": INT32, "int64": INT64, "uint64": UINT64}[dtype]
    info = np.iinfo(dtype)
    a = np.random.default_rng(3).integers(info.min, info.max, (4, 5), dtype, endpoint=True)
    b = np.random.default_rng(4).integers(info.min, info.max, (5, 3), dtype, endpoint=True)
    result = evaluate(matmul(4, 3, 5, ir), {1: a, 2: b})[0].reshape(4, 3)
    assert np.array_equal(result, a @ b)


def test_inputs_stay_as_they_are_and_an_unwritten_element_keeps_its_value():
    view = View((4,), (2,), 1)
    root = sink([("g0", 4)], store(buffer(0, 9, INT32), const(INT32, 5), view))
    out = np.arange(9, dtype=np.int32)
    assert evaluate(root, {0: out})[0].tolist() == [0, 5, 2, 5, 4, 5, 6, 5, 8]
    assert out.tolist() == list(range(9))


def test_a_store_writes_only_where_its_mask_holds():
    view = View((6,), (1,), 0, ((2, 4),))
    root = sink([("g0", 6)], store(buffer(0, 6, INT32), const(INT32, 1), view))
    assert evaluate(root, {0: np.zeros(6, np.int32)})[0].tolist() == [0, 0, 1, 1, 0, 0]


def test_a_masked_load_is_zero_outside_its_mask():
    padded = View((6,), (1,), -2, ((2, 5),))
    root = sink(
        [("g0", 6)],
        store(buffer(0, 6, FLOAT32), load(buffer(1, 3, FLOAT32), padded), contiguous((6,))),
    )
    assert evaluate(root, {1: np.float32([7, 8, 9])})[0].tolist() == [0, 0, 7, 8, 9, 0]


def test_a_stride_may_be_negative():
    flip = View((4,), (-1,), 3)
    root = sink(
        [("g0", 4)], store(buffer(0, 4, INT32), load(buffer(1, 4, INT32), flip), contiguous((4,)))
    )
    assert evaluate(root, {1: np.int32([1, 2, 3, 4])})[0].tolist() == [4, 3, 2, 1]


def test_a_load_beyond_its_buffer_is_refused():
    root = sink(
        [("g0", 4)],
        store(buffer(0, 4, INT32), load(buffer(1, 3, INT32), contiguous((4,))), contiguous((4,))),
    )
    with pytest.raises(DeviceError, match="element"):
        evaluate(root, {1: np.zeros(3, np.int32)})


def test_reducing_an_axis_a_value_does_not_depend_on_repeats_it():
    view = View((3, 5), (1, 0))
    total = reduce(Op.ADD, load(buffer(1, 3, INT32), view), "r0")
    root = sink([("g0", 3), ("r0", 5)], store(buffer(0, 3, INT32), total, view))
    assert evaluate(root, {1: np.int32([1, 2, 3])})[0].tolist() == [5, 10, 15]


def test_a_constant_sums_to_its_count():
    total = reduce(Op.ADD, const(FLOAT32, 1.5), "r0")
    root = sink([("r0", 8)], store(buffer(0, 1, FLOAT32), total, View((8,), (0,))))
    assert evaluate(root, {})[0].tolist() == [12.0]


def test_nested_reduces_see_each_others_results():
    shape = (3, 4, 5)
    x = load(buffer(1, 20, FLOAT32), contiguous(shape, (False, True, True)))
    y = load(buffer(2, 15, FLOAT32), contiguous(shape, (True, False, True)))
    inner = reduce(Op.MAX, alu(Op.ADD, x, y), "r1")
    total = reduce(Op.ADD, inner, "r0")
    root = sink(
        [("g0", 3), ("r0", 4), ("r1", 5)],
        store(buffer(0, 3, FLOAT32), total, contiguous(shape, (True, False, False))),
    )
    a, b = numbers(5, 20), numbers(6, 15)
    wanted = (a.reshape(1, 4, 5) + b.reshape(3, 1, 5)).max(2).sum(1)
    assert evaluate(root, {1: a, 2: b})[0].tolist() == wanted.tolist()


def test_every_output_is_written():
    view = contiguous((4,))
    x = load(buffer(2, 4, INT32), view)
    root = sink(
        [("g0", 4)],
        store(buffer(0, 4, INT32), alu(Op.NEG, x), view),
        store(buffer(1, 4, INT32), alu(Op.ADD, x, x), view),
    )
    result = evaluate(root, {2: np.int32([1, 2, 3, 4])})
    assert {slot: array.tolist() for slot, array in result.items()} == {
        0: [-1, -2, -3, -4],
        1: [2, 4, 6, 8],
    }


def test_an_update_in_place_reads_the_old_contents():
    target, view = buffer(0, 4, INT32), contiguous((4,))
    flipped = load(target, View((4,), (-1,), 3))
    root = sink([("g0", 4)], store(target, alu(Op.ADD, load(target, view), flipped), view))
    assert evaluate(root, {0: np.int32([1, 2, 3, 10])})[0].tolist() == [11, 5, 5, 11]


def test_symbolic_sizes_take_the_values_of_their_variables():
    n = intern(Op.VAR, INT64, (), ("n", 1, 9))
    double = alu(Op.MUL, n, const(INT64, 2))
    x = load(buffer(1, double, FLOAT32), View((n, 2), (2, 1)))
    root = sink(
        [("g0", n), ("r0", 2)],
        store(buffer(0, n, FLOAT32), reduce(Op.ADD, x, "r0"), View((n, 2), (1, 0))),
    )
    for count in (1, 4, 9):
        x = numbers(count, 2 * count)
        result = evaluate(root, {1: x}, {"n": count})[0]
        assert result.tolist() == x.reshape(count, 2).sum(1).tolist()


def test_a_variable_out_of_its_range_is_refused():
    n = intern(Op.VAR, INT64, (), ("n", 1, 9))
    value = alu(Op.CAST, n, dtype=INT32)
    root = sink([("g0", 2)], store(buffer(0, 2, INT32), value, contiguous((2,))))
    assert evaluate(root, {}, {"n": 3})[0].tolist() == [3, 3]
    with pytest.raises(DeviceError, match="n is 10, expected 1 to 9"):
        evaluate(root, {}, {"n": 10})


def test_a_missing_input_and_one_of_another_dtype_are_refused():
    root = elementwise(Op.NEG, FLOAT32, FLOAT32, 4, 1)
    with pytest.raises(DeviceError, match="buffer 1: is missing"):
        evaluate(root, {})
    with pytest.raises(DeviceError, match="float64, expected 4 float32"):
        evaluate(root, {1: np.zeros(4)})


def test_bfloat16_bits_come_back_as_bits():
    root = elementwise(Op.NEG, BFLOAT16, BFLOAT16, 2, 1)
    bits = np.array([0x3F80, 0xC000], np.uint16)
    assert evaluate(root, {0: bits, 1: bits})[0].tolist() == [0xBF80, 0x4000]


def test_float16_products_round_before_they_are_summed():
    root = matmul(1, 1, 2, FLOAT16)
    x = np.float16([[1 + 2**-10, 1 + 2**-10]])
    rounded = np.float16(x * x).astype(np.float64).sum()
    assert evaluate(root, {1: x, 2: x})[0].tolist() == [np.float16(rounded)]


def test_products_that_overflow_give_infinity_not_their_sum():
    x, y = np.float32([[1e30, 1e30]]), np.float32([[1e30], [-1e30]])
    assert np.isnan(evaluate(matmul(1, 1, 2, FLOAT32), {1: x, 2: y})[0][0])


def test_infinity_times_zero_in_a_matmul_is_nan_in_its_row_only():
    x, y = np.float32([[np.inf, 1], [2, 3]]), np.float32([[0], [4]])
    result = evaluate(matmul(2, 1, 2, FLOAT32), {1: x, 2: y})[0]
    assert np.isnan(result[0])
    assert result[1] == 12


def test_a_maximum_compares_equal_to_itself():
    shape, n = (5, 5), 5
    row, column = contiguous(shape, (True, False)), contiguous(shape, (False, True))
    x = load(buffer(1, n, FLOAT32), column)
    most = reduce(Op.MAX, x, "r0")
    first = load(buffer(1, n, FLOAT32), row)
    root = sink(
        [("g0", n), ("r0", n)], store(buffer(0, n, BOOL), alu(Op.EQ, first, most, dtype=BOOL), row)
    )
    assert evaluate(root, {1: np.float32([1, 5, 2, 5, 0])})[0].tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("limit", [1 << 23, 1 << 5])
def test_boxes_do_not_change_the_result(monkeypatch, limit):
    """With little memory the domain is cut along output and reduce axes."""
    monkeypatch.setattr(kernel, "TEMPORARY_ELEMENTS", limit)
    monkeypatch.setattr(kernel, "LEAST_BUDGET", 16)
    x, y = numbers(7, 6 * 50), numbers(8, 6 * 50)
    shape = (6, 50)
    values = [load(buffer(slot, 300, FLOAT32), contiguous(shape)) for slot in (1, 2)]
    total = reduce(Op.ADD, alu(Op.MAX, *values), "r0")
    scaled = alu(
        Op.MUL, total, masked_const(FLOAT32, 3.0, View(shape, (0, 0), 0, ((2, 6), (0, 50))))
    )
    root = sink(
        [("g0", 6), ("r0", 50)],
        store(buffer(0, 6, FLOAT32), scaled, contiguous(shape, (True, False))),
    )
    wanted = np.maximum(x, y).reshape(6, 50).sum(1) * [0, 0, 3, 3, 3, 3]
    assert evaluate(root, {1: x, 2: y})[0].tolist() == wanted.tolist()


# --- random views against the plainest evaluation ---

SHAPE = (3, 4)
BUFFER = 60


@st.composite
def views(draw, shape=SHAPE) -> View:
    strides = tuple(draw(st.integers(-3, 4)) for _ in shape)
    low = sum(min(0, (size - 1) * stride) for size, stride in zip(shape, strides, strict=True))
    bounds = [sorted(draw(st.tuples(st.integers(0, s), st.integers(0, s)))) for s in shape]
    mask = draw(st.sampled_from([None, tuple((a, b) for a, b in bounds)]))
    return View(shape, strides, draw(st.integers(0, 5)) - low, mask)


@st.composite
def stacks(draw) -> tuple[View, ...]:
    outer = draw(views())
    if draw(st.booleans()):
        return (outer,)
    return (draw(views((5, 6, 2))), outer)


@settings(max_examples=150, deadline=None)
@given(stacks(), stacks(), st.sampled_from([Op.ADD, Op.MUL, Op.MAX, Op.MIN]), st.booleans())
def test_any_views_give_what_walking_every_position_gives(first, second, op, reduces):
    a, b = (load(buffer(slot, BUFFER, INT32), *stack) for slot, stack in ((1, first), (2, second)))
    value = alu(Op.SUB, alu(op, a, b), masked_const(INT32, 3, *first))
    if reduces:
        value = reduce(op, value, "r0")
    used = (True, not reduces)
    names = ("g0", "r0" if reduces else "g1")
    target = store(buffer(0, 12, INT32), value, contiguous(SHAPE, used))
    root = sink(list(zip(names, SHAPE, strict=True)), target)
    buffers = {slot: numbers(slot, BUFFER, "int32") for slot in (1, 2)} | {
        0: np.zeros(12, np.int32)
    }
    assert evaluate(root, buffers)[0].tolist() == by_hand(root, buffers)[0].tolist()


def test_a_store_through_two_views_goes_where_both_say():
    views_ = (View((4, 3), (1, 4)), View((3, 4), (4, 1)))
    x = load(buffer(1, 12, INT32), contiguous(SHAPE))
    root = sink([("g0", 3), ("g1", 4)], store(buffer(0, 12, INT32), x, *views_))
    buffers = {1: numbers(9, 12, "int32"), 0: np.zeros(12, np.int32)}
    assert evaluate(root, buffers)[0].tolist() == by_hand(root, buffers)[0].tolist()


def test_float64_sums_stay_float64():
    x = np.array([[1.0, 2.0**-52]])
    assert evaluate(reduction(Op.ADD, FLOAT64, 1, 2), {1: x})[0].tolist() == [1 + 2.0**-52]
