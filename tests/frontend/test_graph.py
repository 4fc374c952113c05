"""The lazy graph: equal expressions are one object, and no walk recurses."""

import gc
import threading
import weakref

import pytest

from compiler.frontend import graph
from compiler.frontend.graph import Kind
from compiler.ir import BOOL, FLOAT32, INT8, INT32, Op


def source(shape=(3, 4), dtype=FLOAT32, name="x"):
    return graph.source(name, dtype, shape, "reference")


def test_equal_expressions_are_one_value():
    x = source()
    assert graph.elementwise(Op.ADD, x, x) is graph.elementwise(Op.ADD, x, x)
    assert graph.permute(x, (1, 0)) is graph.permute(x, (1, 0))


def test_constants_that_differ_in_a_sign_of_zero_or_a_type_are_different_values():
    zeros = [graph.full(v, FLOAT32, (), "reference") for v in (0.0, -0.0)]
    ones = [graph.full(1, dtype, (), "reference") for dtype in (INT32, INT8, BOOL)]
    assert len({*zeros, *ones}) == 5


def test_values_nobody_holds_are_forgotten():
    value = weakref.ref(graph.elementwise(Op.SQRT, source()))
    gc.collect()
    assert value() is None


def test_values_that_threads_make_and_drop_are_one_while_somebody_holds_them():
    x, wrong = source(), []

    def work():
        for _ in range(300):
            held = [graph.reshape(x, shape) for shape in ((12,), (2, 6), (6, 2))]
            again = [graph.reshape(x, shape) for shape in ((12,), (2, 6), (6, 2))]
            wrong.extend([a for a, b in zip(held, again, strict=True) if a is not b])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert graph.reshape(x, (2, 6)) is graph.reshape(x, (2, 6))


def test_what_is_known_of_a_value_dies_with_it():
    value = graph.elementwise(Op.SQRT, source())
    value.storage, value.formula = object(), object()
    del value
    gc.collect()
    again = graph.elementwise(Op.SQRT, source())
    assert again.storage is None
    assert again.formula is None


def test_moves_that_move_nothing_are_the_value_itself():
    x = source()
    whole = ((0, 3), (0, 4))
    moved = [
        graph.permute(x, (0, 1)),
        graph.reshape(x, (3, 4)),
        graph.expand(x, (3, 4)),
        graph.pad(x, ((0, 0), (0, 0))),
        graph.shrink(x, whole),
        graph.flip(x, ()),
        graph.stride(x, (1, 1)),
    ]
    assert all(value is x for value in moved)


def test_a_reshape_of_a_reshape_is_one_reshape():
    x = source()
    assert graph.reshape(graph.reshape(x, (12,)), (2, 6)) is graph.reshape(x, (2, 6))
    assert graph.reshape(graph.reshape(x, (12,)), (3, 4)) is x


def test_a_moved_constant_is_a_constant():
    one = graph.full(1, INT32, (1, 4), "reference")
    assert graph.expand(one, (3, 4)).kind is Kind.CONST


def test_padding_or_reducing_nothing_is_a_constant():
    empty = source((0, 4))
    assert graph.pad(empty, ((1, 1), (0, 0))).arg.value == 0.0
    assert graph.reduce(Op.MUL, empty, (0,)).arg.value == 1.0


@pytest.mark.parametrize("depth", [20_000])
def test_a_deep_chain_is_sorted_without_recursion(depth):
    value = source()
    for _ in range(depth):
        value = graph.elementwise(Op.SQRT, value)
    order = graph.toposort([value])
    assert len(order) == depth + 1
    assert order[-1] is value


def test_sources_come_before_their_users_once():
    x = source()
    y = graph.elementwise(Op.SQRT, x)
    z = graph.elementwise(Op.ADD, y, graph.elementwise(Op.MUL, y, x))
    order = graph.toposort([z, y])
    assert len(order) == len(set(order)) == 4
    assert all(order.index(child) < order.index(value) for value in order for child in value.src)
