"""Sizes of variables: their arithmetic, what they decide, and what is refused."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler import Tensor, Variable
from compiler.backends import size_value
from compiler.errors import DeviceMemoryError, DTypeError, IndexingError, JitError, ShapeError
from compiler.frontend.assumptions import assuming
from compiler.frontend.jit import jit
from compiler.frontend.symbolic import fixed, formula_of, largest, numbers, plain, smallest
from tests.frontend.symbolic_cases import ALL, compiles, rows

BATCH, LENGTH = Variable("batch", 1, 64), Variable("length", 2, 9)

STEPS = {
    "plus": lambda size, k: size + k,
    "minus": lambda size, k: k - size,
    "times": lambda size, k: size * k,
    "over": lambda size, k: size // (k + 1),
    "rounded up": lambda size, k: -(-size // (k + 1)),
    "modulo": lambda size, k: size % (k + 1),
    "twice": lambda size, k: size + size,
    "length": lambda size, k: size,
}


DIVISIONS = ("over", "rounded up", "modulo")


@given(st.integers(1, 64), st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9))))
def test_a_formula_has_the_value_of_its_number(value, steps):
    size, number = BATCH.bind(value), value
    for name, k in steps:
        if name in DIVISIONS and smallest(size) < 0 < largest(size):
            return
        size = STEPS[name](size, k)
        number = STEPS[name](number, k)
    assert plain(size) == number
    assert size_value(formula_of(size), {"batch": value}) == number
    assert smallest(size) <= number <= largest(size)


@pytest.mark.parametrize("name", DIVISIONS)
def test_a_quotient_of_a_size_of_either_sign_is_refused(name):
    with pytest.raises(ShapeError, match="narrow the range of the variable"):
        STEPS[name](BATCH.bind(20) - 10, 2)


@pytest.mark.parametrize("value", [1, 7, 64])
def test_order_is_decided_by_the_range_where_that_is_enough(value):
    size, other = BATCH.bind(value), LENGTH.bind(2)
    with assuming() as assumed:
        assert size > 0
        assert size <= 64
        assert size - 1 < size
        assert not size * 2 < size
        assert size + other >= 3
    assert not assumed


def test_order_by_the_number_is_an_assumption():
    size = BATCH.bind(7)
    with assuming() as assumed:
        assert size < 30
        assert not size * 2 <= 13
    assert [str(one) for one in assumed] == ["batch < 30", "(batch * 2) > 13"]
    assert [[one.holds({"batch": n}) for n in (6, 7, 29, 30)] for one in assumed] == [
        [True, True, True, False],
        [False, True, True, True],
    ]


@pytest.mark.parametrize(
    "use", [int, float, fixed, lambda n: n / 2, lambda n: 2 / n, lambda n: n < 7.5]
)
def test_what_needs_the_number_assumes_it(use):
    size = BATCH.bind(7)
    with assuming() as assumed:
        assert use(size) == use(7)
    assert [str(one) for one in assumed] == ["batch = 7"]


def test_a_symbolic_size_equals_none_of_another_formula():
    size = BATCH.bind(7)
    assert size != 7
    assert size != BATCH.bind(8)
    assert size != Variable("other", 1, 64).bind(7)
    assert size == BATCH.bind(7)
    assert size + size == 2 * size
    assert len({size, 7, size + 0}) == 2


def test_sizes_print_their_formula_and_their_number():
    size = BATCH.bind(7)
    assert f"{size} {size * 3 + 1} {size % 2!r}" == "batch=7 ((batch * 3) + 1)=22 (batch % 2)=1"


@pytest.mark.parametrize("value", [0, 65])
def test_a_value_outside_the_range_is_refused(value):
    with pytest.raises(ShapeError, match=f"batch from 1 to 64: cannot be bound to {value}"):
        Tensor(np.zeros((value, 2))).bind(BATCH)


@pytest.mark.parametrize(("name", "low", "high"), [("a b", 1, 2), ("n", 0, 2), ("n", 3, 2)])
def test_a_variable_needs_a_name_and_a_range(name, low, high):
    with pytest.raises(ShapeError, match=f"variable '?{name}"):
        Variable(name, low, high)


def test_only_integers_are_bound():
    with pytest.raises(DTypeError, match="use an integer"):
        BATCH.bind(2.5)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70])
def test_a_number_of_more_than_64_bits_is_in_no_size(number):
    """It was cut to 64 bits, and a tensor rolled by it was another."""
    size = BATCH.bind(7)
    for step in (operator.add, operator.mul, operator.floordiv, operator.mod):
        for pair in ((size, number), (number, size)):
            with pytest.raises(ShapeError, match="does not fit in 64 bits"):
                step(*pair)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.tile((2**61,)).tile((8,)),
        lambda x: x.repeat(2**61, 0).tile((2**30,)).sum(),
        lambda x: x.pad(((2**62, 0),)).tile((4,)),
        lambda x: x.reshape(1, -1).expand(2**61, x.shape[0]).reshape(-1).tile((8,)),
        lambda x: x.roll(x.shape[0] * 2**61 + 1, 0),
        lambda x: x.roll(-(x.shape[0] * 2**61) - 2, 0),
        lambda x: x.roll(x.shape[0] + (2**63 - 1), 0),
        lambda x: x.pad(((0, (x.shape[0] - 5) * (2**63 - 1)),)).reshape(-1),
        lambda x: x + ((x.shape[0] - 5) * 2**62 * 2),
    ],
)
def test_no_size_has_more_than_64_bits_for_the_number_that_it_is_bound_to(made):
    """Kernels wrapped and read memory of others; sizes that fit are right up to the last bit."""
    x = Tensor(np.arange(1, 6, dtype=np.float32), device="reference").bind(BATCH)
    with pytest.raises(ShapeError, match="64 bits"):
        made(x)
    assert x.tile((2**60,))[5 * 2**60 - 4 :].numpy().tolist() == [2, 3, 4, 5]


WIDE = Variable("wide", 1, 2**31 - 1)
GROWING = {
    "a shift": (lambda x: x.roll(x.shape[0] * 2**60 + 1, 0) + 0, 3, 9),
    "copies": (lambda x: x.tile((2**60,))[-1:] + 0, 2, 9),
    "copies of copies": (lambda x: x.tile((2**30,)).tile((2**30,))[-1:] + 0, 2, 9),
    "places of three axes": (
        lambda x: x.reshape(1, 1, -1).expand(*(x.shape[0],) * 3).reshape(-1)[-2:] + 0,
        1000,
        3_000_000,
    ),
    "parts of nothing": (
        lambda x: _stacked(x.reshape(-1, 1).tile(((x.shape[0] - 1) * 2**20, 1)), x.shape[0]),
        1,
        30,
    ),
}


def _stacked(x, count):
    wide = x.reshape(1, *x.shape).expand(count * 2**30 + 1, *x.shape)
    return wide[-2:, -2:].reshape(-1) + 0


@pytest.mark.parametrize(("made", "small", "large"), GROWING.values(), ids=GROWING)
def test_what_was_recorded_for_a_size_that_fits_is_not_run_for_one_that_does_not(
    made, small, large
):
    """The recorded kernels wrapped, and read memory of others."""
    recorded = jit(made)
    for n in (small, small + 1):
        x = np.arange(n, dtype=np.float32)
        wanted = made(Tensor(x, device="llvm")).numpy()
        assert recorded(Tensor(x, device="llvm").bind(WIDE)).numpy().tolist() == wanted.tolist()
    with pytest.raises(JitError, match=r"is right where .* (<= 9223372036854775807|than 2\*\*63)"):
        recorded(Tensor(np.zeros(large, np.float32), device="llvm").bind(WIDE))


@pytest.mark.parametrize(
    "using",
    [
        lambda size, x: x.roll(size, 0),
        lambda size, x: x + size,
        lambda size, x: x + size % 3,
        lambda size, x: x + Tensor.arange(size, device="llvm")[-1:],
    ],
)
def test_a_size_made_before_the_recording_is_held_to_what_fits(using):
    def bound(n):
        return Tensor(np.arange(n, dtype=np.float64), device="llvm").bind(WIDE)

    size = bound(1).shape[0] * 2**61 + 1
    recorded = jit(lambda x: using(size, x) + 0)
    for n in (1, 2):
        x = bound(n)
        wanted = using(x.shape[0] * 2**61 + 1, x).numpy()
        assert recorded(x).numpy().tolist() == wanted.tolist()
    with pytest.raises(JitError, match="<= 9223372036854775807, now wide = 5"):
        recorded(bound(5))


def test_a_refusal_that_was_caught_is_part_of_what_was_decided():
    def other_where_too_big(x):
        try:
            return x.repeat(2**62)[-1:] * 1
        except ShapeError:
            return x * 0

    def bound(n):
        return Tensor(np.ones(n, np.float32), device="llvm").bind(WIDE)

    recorded = jit(other_where_too_big)
    assert recorded(bound(5)).numpy().tolist() == [0] * 5
    with pytest.raises(JitError, match="is right where wide = 5, now wide = 1"):
        recorded(bound(1))


def test_a_shape_of_too_many_elements_is_refused_whatever_was_seen_before():
    def tiled(n):
        rows = Tensor(np.ones((n, 2), np.float32), device="reference").bind(WIDE)
        return (rows.tile((2**60, 1))[-1:] + 0).numpy().tolist()

    assert tiled(1) == [[1, 1]]
    with pytest.raises(ShapeError, match="64 bits"):
        tiled(5)
    x = Tensor(np.ones((1, 2), np.float32), device="reference").bind(WIDE)
    with pytest.raises(ShapeError, match="is too big, places in an array have 64 bits"):
        x.pad(((x.shape[0] * 2**62, 0), (0, 0)))


def test_an_axis_is_bound_once():
    x = Tensor(np.zeros((3, 2))).bind(BATCH)
    with pytest.raises(ShapeError, match="is symbolic already"):
        x.bind(LENGTH)


def test_two_axes_may_have_two_variables(check):
    def run(n, m):
        array = np.arange(n * m, dtype=np.float32).reshape(n, m)
        x = Tensor(array, device="reference").bind(BATCH).bind(LENGTH, axis=1)
        check((x.T + 1).sum(0) + x.shape[1], (array.T + 1).sum(0) + np.float32(m))

    run(3, 4)
    assert compiles(lambda: [run(64, 2), run(1, 9)]) == 0


def test_one_variable_has_one_value_in_a_graph():
    a, b = [Tensor(np.zeros((n, 2))).bind(BATCH).sum() for n in (3, 4)]
    with pytest.raises(ShapeError, match="batch from 1 to 64: is bound to 3 and to 4"):
        a + b
    assert float(a.realize() + b.realize()) == 0  # they are numbers now


def test_one_variable_has_one_range_in_a_graph():
    x = Tensor(np.zeros((3, 2))).bind(BATCH).sum()
    with pytest.raises(ShapeError, match="batch: is from 1 to 64 and from 1 to 8 in one graph"):
        x + Tensor(np.zeros((3, 2))).bind(Variable("batch", 1, 8)).sum()


def test_a_plain_size_that_is_equal_by_chance_is_refused():
    x = Tensor(np.zeros((3, 2))).bind(BATCH)
    with pytest.raises(ShapeError, match=r"sizes batch=3 and 3 are equal by chance, bind both"):
        x + Tensor(np.zeros((3, 2)))


def test_a_shape_is_refused_if_it_is_not_the_same_for_all_values():
    x = Tensor(np.zeros((3, 4))).bind(BATCH)
    with pytest.raises(
        ShapeError, match=r"\(batch \* 4\)=12 elements cannot be reshaped to \(12,\)"
    ):
        x.reshape(12)


def test_there_is_no_maximum_of_nothing():
    def rest(n):
        return Tensor(np.arange(n, dtype=np.float32), device="reference").bind(BATCH)[1:]

    assert rest(3).max().item() == 2
    with pytest.raises(ShapeError, match="has no elements to compare"):
        rest(1).max()


def test_explain_names_the_formula():
    x = Tensor(np.zeros((3, 4), np.float32), device="reference").bind(BATCH)
    assert "over g0:batch g1:4: MUL\n" in (x * 2).explain()


def test_a_graph_knows_its_variables():
    x = Tensor(np.zeros((3, 4))).bind(BATCH)
    assert numbers(x.sum().value.bindings) == {"batch": 3}


def test_gradients_follow_a_symbolic_axis(check):
    def run(n):
        array = np.linspace(-1, 2, n * 3, dtype=np.float32).reshape(n, 3)
        x = Tensor(array, device="reference").bind(BATCH)
        y = Tensor(array, device="reference")
        mine, plain_one = [(v * v.mean(0)).tanh().sum().gradient(v)[0] for v in (x, y)]
        check(mine, plain_one.numpy())

    run(1)
    assert compiles(lambda: run(5)) - compiles(lambda: run(5)) <= 3  # those of the plain one


REFUSED = {"conv over it"}  # its size is no formula of a window that may not fit


@pytest.mark.parametrize("name", sorted(set(ALL) - REFUSED))
def test_an_axis_may_be_empty_for_some_values(name):
    """Rolls, sorts and running sums divided by its size, or were refused for every value."""
    for n in (3, 2, 1):
        x = Tensor(rows(n), device="reference")
        try:
            wanted = ALL[name](x[1:]).numpy()
        except (ShapeError, IndexingError):  # of nothing: there is no greatest, no first row
            assert n == 1
            continue
        mine = ALL[name](x.bind(BATCH)[1:]).numpy()
        assert mine.shape == wanted.shape
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", ["reference", "llvm", "opencl"])
def test_what_no_device_can_hold_is_one_line(device):
    x = Tensor(np.ones(1, np.float32), device=device)
    for shape in ((2**61,), (2**62,), (2**55, 2**6)):
        with pytest.raises(DeviceMemoryError, match="float32 do not fit") as found:
            x.expand(*shape).contiguous().realize()
        assert "\n" not in str(found.value)
