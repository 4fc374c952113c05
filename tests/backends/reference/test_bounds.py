"""Error bounds: no correct implementation is outside them, and they are tight enough to use."""

import math

import numpy as np
import pytest
from adversary import implement
from asts import alu, buffer, contiguous, elementwise, load, matmul, reduce, reduction, sink, store
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.backends.reference import Bound, evaluate, evaluate_with_bound, numpy_dtype
from compiler.backends.reference.bounds.functions import NATIVE_ULP, PORTABLE_ULP, ULP_16
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    UINT32,
    DType,
    Node,
    Op,
    View,
    const,
    print_node,
)
from compiler.rules.transcendental import MAX_ULP

FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)


def outside(bound: Bound, result: np.ndarray) -> np.ndarray:
    """Where a result is not what the bound allows."""
    if result.dtype.kind in "iub":
        return (result != bound.value) & ~bound.undecided
    got = result.astype(np.float64)
    same = (got == bound.value) | (np.isnan(got) & np.isnan(bound.value))
    with np.errstate(all="ignore"):
        near = np.abs(got - bound.value) <= bound.error
    return ~(same | near | np.isinf(bound.error))


# --- soundness ---

SHAPE = (4, 6)
SIZE = 24
WHOLE, ROWS = contiguous(SHAPE), contiguous(SHAPE, (True, False))
UNARY = (Op.NEG, Op.SQRT, Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF)
ROUNDS = (Op.TRUNC, Op.FLOOR, Op.CEIL, Op.RINT)
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.MAX, Op.MIN, Op.POW)


@st.composite
def expressions(draw, dtype: DType, depth: int) -> Node:
    """A float expression over the domain; may reduce the second axis once."""
    if depth == 0:
        return load(
            buffer(draw(st.integers(1, 2)), SIZE, dtype), draw(st.sampled_from([WHOLE, ROWS]))
        )
    again = expressions(dtype, depth - 1)
    match draw(st.sampled_from("ubbbbwrcm")):
        case "u":
            return alu(draw(st.sampled_from(UNARY + ROUNDS)), draw(again))
        case "w":
            op = draw(st.sampled_from([Op.LT, Op.LE, Op.EQ, Op.NE]))
            condition = alu(op, draw(again), draw(again), dtype=BOOL)
            return alu(Op.WHERE, condition, draw(again), draw(again), dtype=dtype)
        case "r":
            return alu(Op.ADD, draw(again), const(dtype, draw(st.sampled_from([0.5, 3.0, 1e-3]))))
        case "c":
            other = FLOAT32 if dtype is not FLOAT32 else FLOAT16
            return alu(Op.CAST, alu(Op.CAST, draw(again), dtype=other), dtype=dtype)
        case "m":
            return alu(Op.MULACC, draw(again), draw(again), draw(again))
        case _:
            return alu(draw(st.sampled_from(BINARY)), draw(again), draw(again))


@st.composite
def kernels(draw) -> Node:
    dtype = draw(st.sampled_from(FLOATS))
    value = draw(expressions(dtype, draw(st.integers(1, 3))))
    view = WHOLE
    axes = [("g0", 4), ("g1", 6)]
    if draw(st.booleans()):
        op = draw(st.sampled_from([Op.ADD, Op.ADD, Op.MUL, Op.MAX, Op.MIN]))
        value, view, axes = reduce(op, value, "r0"), ROWS, [("g0", 4), ("r0", 6)]
        if draw(st.booleans()):
            value = alu(draw(st.sampled_from(UNARY + ROUNDS)), value)
    if draw(st.booleans()):
        target = draw(st.sampled_from([INT32, UINT32, BOOL, FLOAT32]))
        value = alu(Op.CAST, value, dtype=target)
    slots = {n.attr[0] for n in _below(value) if n.op is Op.BUFFER}
    assume(slots in ({1}, {1, 2}))
    return sink(axes, store(buffer(0, SIZE, value.dtype), value, view))


def operands(root: Node, seed: int, kind: str) -> dict[int, np.ndarray]:
    dtype = next(n.dtype for n in _below(root) if n.op is Op.BUFFER and n.attr[0] > 0)
    rng = np.random.default_rng(seed)
    found = {}
    for slot in (1, 2):
        x = rng.standard_normal(SIZE)
        if kind == "wide":
            x = x * 2.0 ** rng.integers(-14, 15, SIZE)
        if kind == "whole":
            x = np.rint(x * 3)
        if kind == "special":
            limits = np.finfo(np.float32).max, -np.finfo(np.float32).max, 1e-45, 6e4
            specials = [np.inf, -np.inf, np.nan, 0.0, -0.0, *limits, 1.0, -1.0]
            x = rng.choice(specials, SIZE)
        with np.errstate(all="ignore"):
            found[slot] = x.astype(numpy_dtype(dtype))
    return found


def _below(node: Node) -> list[Node]:
    return [node, *[other for child in node.src for other in _below(child)]]


def check_some_implementations(root: Node, seed: int, kind: str) -> None:
    buffers = operands(root, seed, kind)
    bound = evaluate_with_bound(root, buffers)[0]
    for run in range(4):
        result = implement(root, buffers, seed + run)[0]
        wrong = np.flatnonzero(outside(bound, result))
        found = (print_node(root), result[wrong], bound.value[wrong], bound.error[wrong])
        assert wrong.size == 0, found
    assert not np.any(outside(bound, evaluate(root, buffers)[0]))


KINDS = st.sampled_from(["plain", "wide", "whole", "special"])


@settings(max_examples=100, deadline=None)
@given(kernels(), st.integers(0, 2**32), KINDS)
def test_no_correct_implementation_is_outside_the_bound(root, seed, kind):
    check_some_implementations(root, seed, kind)


@pytest.mark.slow
@settings(max_examples=4000, deadline=None)
@given(kernels(), st.integers(0, 2**32), KINDS)
def test_no_correct_implementation_of_thousands_is_outside_the_bound(root, seed, kind):
    check_some_implementations(root, seed, kind)


@pytest.mark.parametrize("dtype", [FLOAT16, FLOAT32, FLOAT64], ids=str)
def test_a_product_that_is_added_may_be_fused_or_not(dtype):
    view, kind = contiguous((500,)), numpy_dtype(dtype)
    a, b, c = (load(buffer(slot, 500, dtype), view) for slot in (1, 2, 3))
    plain = sink(
        [("g0", 500)], store(buffer(0, 500, dtype), alu(Op.ADD, alu(Op.MUL, a, b), c), view)
    )
    fused = sink([("g0", 500)], store(buffer(0, 500, dtype), alu(Op.MULACC, a, b, c), view))
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 500)).astype(kind)
    z = -(x * y).astype(kind)  # all that is left is the rounding of the product
    buffers = {1: x, 2: y, 3: z}
    bound = evaluate_with_bound(plain, buffers)[0]
    for root in (plain, fused):
        assert not np.any(outside(bound, evaluate(root, buffers)[0]))


@pytest.mark.parametrize("length", [7, 1000])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_dot_product_in_any_order_is_inside(dtype, length):
    root = matmul(3, 2, length, dtype)
    rng = np.random.default_rng(1)
    buffers = {
        1: rng.standard_normal((3, length)).astype(numpy_dtype(dtype)),
        2: rng.standard_normal((length, 2)).astype(numpy_dtype(dtype)),
    }
    bound = evaluate_with_bound(root, buffers)[0]
    for seed in range(10):
        assert not np.any(outside(bound, implement(root, buffers, seed)[0]))


def test_the_stated_ulps_cover_what_the_decompositions_promise():
    for (op, dtype), found in MAX_ULP.items():
        assert found <= (ULP_16 if dtype.bits == 16 else PORTABLE_ULP[op]) <= NATIVE_ULP[op]


# --- sharpness ---


def bound_of(root: Node, *inputs: object) -> Bound:
    arrays = dict(enumerate([np.asarray(x) for x in inputs], 1))
    return evaluate_with_bound(root, arrays)[0]


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.FDIV], ids=lambda op: op.name)
def test_one_ieee_operation_has_one_result(op):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 100)).astype(np.float32)
    bound = bound_of(elementwise(op, FLOAT32, FLOAT32, 100, 2), x, y)
    assert not bound.error.any()
    assert np.array_equal(
        bound.value, evaluate(elementwise(op, FLOAT32, FLOAT32, 100, 2), {1: x, 2: y})[0]
    )


def test_a_sum_of_multiples_of_one_power_of_two_is_exact():
    x = np.random.default_rng(3).integers(-100, 100, (4, 100_000)) / np.float32(8)
    bound = bound_of(reduction(Op.ADD, FLOAT32, 4, 100_000), x.astype(np.float32))
    assert not bound.error.any()
    assert bound.value.tolist() == x.sum(1).tolist()


def test_a_sum_that_outgrows_the_dtype_is_not_exact():
    x = np.full((1, 40), 2.0**20 + 1, np.float32)
    assert bound_of(reduction(Op.ADD, FLOAT32, 1, 40), x).error[0] > 0


def test_a_matmul_of_small_numbers_is_exact():
    rng = np.random.default_rng(4)
    a, b = rng.integers(-16, 16, (2, 64, 64)).astype(np.float32) / 4
    bound = bound_of(matmul(64, 64, 64, FLOAT32), a, b)
    assert not bound.error.any()
    assert np.array_equal(bound.value.reshape(64, 64), a @ b)


def test_picking_one_row_by_a_sum_is_exact():
    """Adding 0 rounds nothing, whatever the numbers are."""
    x = np.zeros((1, 1000), np.float32)
    x[0, 700] = 0.1
    assert not bound_of(reduction(Op.ADD, FLOAT32, 1, 1000), x).error.any()


def test_a_product_of_powers_of_two_is_exact():
    x = 2.0 ** np.random.default_rng(5).integers(-2, 3, (3, 20)).astype(np.float32)
    assert not bound_of(reduction(Op.MUL, FLOAT32, 3, 20), x.astype(np.float32)).error.any()


def test_a_maximum_is_exact_and_a_sum_grows_with_its_terms():
    x = np.random.default_rng(6).standard_normal((1, 100)).astype(np.float32)
    assert not bound_of(reduction(Op.MAX, FLOAT32, 1, 100), x).error.any()
    error = bound_of(reduction(Op.ADD, FLOAT32, 1, 100), x).error[0]
    assert error == pytest.approx(99 * 2.0**-24 * np.abs(x).sum(), rel=1e-4)


def test_functions_are_known_to_their_ulps():
    x = np.linspace(0.1, 3, 50).astype(np.float32)
    for op, function in ((Op.EXP2, np.exp2), (Op.SIN, np.sin), (Op.TANH, np.tanh)):
        bound = bound_of(elementwise(op, FLOAT32, FLOAT32, 50, 1), x)
        exact = function(x.astype(np.float64))
        assert np.all(np.abs(bound.value - exact) < 1e-12)
        assert np.all(
            bound.error < NATIVE_ULP[op] * 1.001 * np.spacing(np.abs(exact).astype(np.float32))
        )


# --- decisions ---


def decide(op: Op, offset: float) -> Bound:
    """op(sqrt(x) * sqrt(x) + offset) near 2, where rounding errors are about 1e-7."""
    view = contiguous((1,))
    root = alu(Op.SQRT, load(buffer(1, 1, FLOAT32), view))
    value = alu(Op.ADD, alu(Op.MUL, root, root), const(FLOAT32, offset))
    value = alu(op, value)
    return bound_of(sink([("g0", 1)], store(buffer(0, 1, FLOAT32), value, view)), np.float32([2]))


def test_a_floor_inside_the_error_is_undecided_and_one_outside_is_not():
    assert decide(Op.FLOOR, 0.0).undecided.tolist() == [True]
    assert decide(Op.FLOOR, 0.5).undecided.tolist() == [False]
    assert decide(Op.RINT, 0.0).undecided.tolist() == [False]
    assert decide(Op.RINT, 0.5).undecided.tolist() == [True]


def selected(low: float, high: float) -> Bound:
    """where(2**x < 2, low, high) at x = 1."""
    view = contiguous((1,))
    power = alu(Op.EXP2, load(buffer(1, 1, FLOAT32), view))
    condition = alu(Op.LT, power, const(FLOAT32, 2.0), dtype=BOOL)
    value = alu(Op.WHERE, condition, const(FLOAT32, low), const(FLOAT32, high), dtype=FLOAT32)
    return bound_of(sink([("g0", 1)], store(buffer(0, 1, FLOAT32), value, view)), np.float32([1]))


def test_an_open_comparison_gives_the_union_of_what_it_selects():
    bound = selected(3.0, 5.0)
    assert bound.undecided.tolist() == [True]
    assert bound.value[0] in (3.0, 5.0)
    assert bound.error[0] == pytest.approx(2.0)


def test_an_open_comparison_between_equal_values_is_no_matter():
    bound = selected(3.0, 3.0)
    assert not bound.undecided.any()
    assert not bound.error.any()


def test_a_comparison_of_exact_values_is_decided_even_if_they_are_equal():
    root = elementwise(Op.LT, BOOL, FLOAT32, 3, 2)
    bound = bound_of(root, np.float32([1, 2, 3]), np.float32([2, 2, 2]))
    assert bound.value.tolist() == [True, False, False]
    assert not bound.undecided.any()


def test_a_division_by_what_may_be_zero_is_undecided():
    view = contiguous((1,))
    root = alu(Op.SQRT, load(buffer(1, 1, FLOAT32), view))
    rest = alu(Op.SUB, alu(Op.MUL, root, root), const(FLOAT32, 2.0))
    value = alu(Op.FDIV, const(FLOAT32, 1.0), rest)
    bound = bound_of(sink([("g0", 1)], store(buffer(0, 1, FLOAT32), value, view)), np.float32([2]))
    assert math.isinf(bound.error[0])
    assert bound.undecided.tolist() == [True]


def test_an_infinity_with_the_sign_of_a_maximum_of_zeros_is_undecided():
    """Which of two zeros a maximum gives depends on its order; what a load gives does not."""
    shape, column = (1, 2), contiguous((1, 2), (True, False))
    most = reduce(Op.MAX, load(buffer(1, 2, FLOAT32), contiguous(shape)), "r0")
    value = alu(Op.FDIV, const(FLOAT32, 1.0), most)
    root = sink([("g0", 1), ("r0", 2)], store(buffer(0, 1, FLOAT32), value, column))
    assert bound_of(root, np.float32([0.0, -0.0])).undecided.all()
    quotient = elementwise(Op.FDIV, FLOAT32, FLOAT32, 1, 2)
    assert not bound_of(quotient, np.float32([1]), np.float32([-0.0])).undecided.any()


def test_a_sum_that_may_overflow_in_one_order_is_undecided():
    big = np.finfo(np.float32).max
    assert bound_of(
        reduction(Op.ADD, FLOAT32, 1, 3), np.float32([[big, big, -big]])
    ).undecided.all()
    certain = bound_of(reduction(Op.ADD, FLOAT32, 1, 2), np.float32([[big, big]]))
    assert certain.value.tolist() == [math.inf]
    assert not certain.undecided.any()


def test_a_function_of_what_may_be_nan_is_undecided():
    big = np.finfo(np.float32).max
    shape, column = (1, 3), contiguous((1, 3), (True, False))
    total = reduce(Op.ADD, load(buffer(1, 3, FLOAT32), contiguous(shape)), "r0")
    for op in (Op.SIN, Op.TANH, Op.EXP2):
        target = store(buffer(0, 1, FLOAT32), alu(op, total), column)
        root = sink([("g0", 1), ("r0", 3)], target)
        assert bound_of(root, np.float32([[big, big, -big]])).undecided.all()


def test_infinities_and_nans_among_the_terms_are_certain():
    x = np.float32([[math.inf, 1, 2], [math.inf, -math.inf, 0], [math.nan, 1, 1], [1, 1, 1]])
    bound = bound_of(reduction(Op.ADD, FLOAT32, 4, 3), x)
    assert not bound.undecided.any()
    assert bound.value[0] == math.inf
    assert np.isnan(bound.value[1:3]).all()
    assert bound.value[3] == 3


def test_integers_and_bools_are_exact():
    x = np.int32([[2**31 - 1, 5, 7]])
    bound = bound_of(reduction(Op.ADD, INT32, 1, 3), x)
    assert bound.value.dtype == np.int32
    assert bound.value.tolist() == [-(2**31) + 11]


def test_elements_that_are_not_written_are_marked():
    view = View((4,), (2,))
    root = sink([("g0", 4)], store(buffer(0, 8, FLOAT32), const(FLOAT32, 1.0), view))
    bound = evaluate_with_bound(root, {0: np.full(8, 9, np.float32)})[0]
    assert bound.written.tolist() == [True, False] * 4
    assert bound.value.tolist() == [1, 9] * 4
