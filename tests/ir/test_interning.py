"""One node per (op, dtype, src, attr), from however many threads, and no longer than it is used."""

import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError
from threading import Barrier
from weakref import ref

import pytest

from compiler.ir import INT32, Op, const, intern
from compiler.ir.table import FEWEST

THREADS = 4


@pytest.fixture
def _switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _chain(name, barrier=None):
    if barrier is not None:
        barrier.wait()
    nodes = [intern(Op.VAR, INT32, (), (name, 0, 10))]
    for number in range(200):
        nodes.append(intern(Op.ADD, INT32, (nodes[-1], const(INT32, number))))
    return nodes


@pytest.mark.usefixtures("_switching_often")
def test_threads_that_make_equal_nodes_get_the_same_ones():
    with ThreadPoolExecutor(THREADS) as pool:
        for name in ("a", "b", "a", "c", "a") * 4:  # those of the first time are dying by then
            barrier = Barrier(THREADS)
            chains = list(pool.map(_chain, [name] * THREADS, [barrier] * THREADS))
            for first, *others in zip(*chains, strict=True):
                assert all(other is first for other in others)


@pytest.mark.usefixtures("_switching_often")
def test_no_node_in_use_is_lost_while_threads_sweep_the_table():
    held = _chain("held")

    def make(worker):
        for number in range(2 * FEWEST):
            intern(Op.VAR, INT32, (), (f"{worker}.{number}", 0, 1))
            node = held[number % len(held)]
            assert intern(node.op, node.dtype, node.src, node.attr) is node

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(make, range(THREADS)))


class _Name(str):
    """A string that can be seen to be freed, with the node that it names."""


def test_a_graph_that_nobody_uses_is_freed_once_many_nodes_have_been_made():
    first = ref(_chain(_Name("freed"))[0].attr[0])
    others = [intern(Op.VAR, INT32, (), (f"other{number}", 0, 1)) for number in range(FEWEST)]
    while first() is not None and len(others) < 1_000_000:  # twice of what other tests hold
        others.append(intern(Op.VAR, INT32, (), (f"other{len(others)}", 0, 1)))
    assert first() is None


def test_a_node_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        const(INT32, 1).op = Op.ADD


def test_a_copy_of_a_node_is_the_node():
    node = intern(Op.NEG, INT32, (const(INT32, 1),))
    assert copy(node) is node
    assert deepcopy(node) is node


def test_a_long_chain_of_nodes_is_freed_without_a_deep_stack():
    end = _Name("end")
    freed = ref(end)
    node = intern(Op.VAR, INT32, (), (end, 0, 10))
    del end
    for _ in range(2 * FEWEST):  # the youngest stay: the last of them alone holds the others
        node = intern(Op.NEG, INT32, (node,))
    _chain("other")
    del node
    others = [intern(Op.VAR, INT32, (), (f"new{number}", 0, 1)) for number in range(FEWEST)]
    while freed() is not None and len(others) < 1_000_000:
        others.append(intern(Op.VAR, INT32, (), (f"new{len(others)}", 0, 1)))
    assert freed() is None


def test_constants_are_told_apart_by_their_bits():
    assert len({id(const(INT32, value)) for value in (0, 1, False, True, 0.0)}) == 2
