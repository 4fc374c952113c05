"""Loops, accumulators, guarded blocks, gates, work-groups and symbolic sizes."""

import numpy as np
import pytest

from compiler.backends import arguments_of
from compiler.backends.opencl import BACKEND as OPENCL
from compiler.errors import BuildError, DeviceError
from compiler.ir import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    VOID,
    AxisKind,
    Op,
    parse_node,
)
from compiler.target import OPENCL as TARGET

REDUCE = AxisKind.REDUCE


def acc(code, number, dtype, init):
    node = code.emit(Op.ACC, dtype, (), (number,))
    code.emit(Op.INIT, VOID, (node, init))
    return node


def times(code, node, factor):
    return code.emit(Op.MUL, node.dtype, (node, code.const(node.dtype, factor)))


def plus(code, a, b):
    return code.emit(Op.ADD, a.dtype, (a, b))


def test_a_nest_of_loops_folds_into_two_accumulators(runner, code):
    """Row sums and maxima of a (6, 4, 5) block, both reduced over two loops at once."""
    data = np.random.default_rng(1).integers(-99, 99, (6, 4, 5)).astype(np.int32)
    index, close = runner.index(code, 6)
    total = acc(code, 0, INT32, code.const(INT32, 0))
    largest = acc(code, 1, INT32, code.const(INT32, -(2**31)))
    outer = code.range("r0", 4, REDUCE)
    inner = code.range("r1", 5, REDUCE)
    offset = plus(code, plus(code, times(code, index, 20), times(code, outer, 5)), inner)
    x = code.read(code.buffer(2, INT32, 120), offset)
    summed = plus(code, total, x)
    maximal = code.emit(Op.MAX, INT32, (largest, x))
    sets = [code.emit(Op.SET, VOID, pair) for pair in ((total, summed), (largest, maximal))]
    ended = code.end(outer, code.end(inner, *sets))
    for slot, accumulator in enumerate((total, largest)):
        result = code.emit(Op.RESULT, INT32, (accumulator, ended), (slot,))
        code.write(code.buffer(slot, INT32, 6), index, result)
    close()
    sums, maxima = runner.run(code.program(), {2: data.reshape(-1)})[:2]
    assert (sums == data.sum((1, 2))).all()
    assert (maxima == data.max((1, 2))).all()


def test_a_fold_of_floats_keeps_its_order(runner, code, same_bits):
    data = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    total = acc(code, 0, FLOAT32, code.const(FLOAT32, -0.0))
    step = code.range("r0", 1000, REDUCE)
    x = code.read(code.buffer(1, FLOAT32, 1000), step)
    ended = code.end(step, code.emit(Op.SET, VOID, (total, plus(code, total, x))))
    result = code.emit(Op.RESULT, FLOAT32, (total, ended), (0,))
    code.write(code.buffer(0, FLOAT32, 1), code.const(INT32, 0), result)
    expected = np.float32(-0.0)
    for value in data:
        expected += value
    same_bits(runner.run(code.program(), {1: data})[0], [expected])


def test_a_vector_accumulator_keeps_each_lane_apart(runner, code, same_bits):
    data = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
    lanes = FLOAT32.vec(8)
    total = acc(code, 0, lanes, code.const(lanes, 0.0))
    step = code.range("r0", 50, REDUCE)
    x = code.read(code.buffer(1, FLOAT32, 400), times(code, step, 8), 8)
    ended = code.end(step, code.emit(Op.SET, VOID, (total, plus(code, total, x))))
    result = code.emit(Op.RESULT, lanes, (total, ended), (0,))
    first = code.const(INT32, 0)
    code.write(code.buffer(0, FLOAT32, 8), first, result)
    expected = np.zeros(8, np.float32)
    for row in data:
        expected += row
    same_bits(runner.run(code.program(), {1: data.reshape(-1)})[0], expected)


def test_a_second_loop_starts_its_accumulator_anew_in_every_iteration(runner, code):
    index, close = runner.index(code, 5)
    counts = acc(code, 0, INT32, index)
    outer = code.range("r0", 3, REDUCE)
    inner_total = acc(code, 1, INT32, code.const(INT32, 1))
    inner = code.range("r1", 4, REDUCE)
    doubled = plus(code, inner_total, inner_total)
    inner_end = code.end(inner, code.emit(Op.SET, VOID, (inner_total, doubled)))
    sixteen = code.emit(Op.RESULT, INT32, (inner_total, inner_end), (0,))
    grown = plus(code, counts, plus(code, sixteen, outer))
    ended = code.end(outer, code.emit(Op.SET, VOID, (counts, grown)))
    result = code.emit(Op.RESULT, INT32, (counts, ended), (0,))
    code.write(code.buffer(0, INT32, 5), index, result)
    close()
    assert (runner.run(code.program(), {})[0] == np.arange(5) + 3 * 16 + 3).all()


def test_accumulators_can_trade_values(runner, code):
    """Fibonacci: each next value is computed from both old ones before either is set."""
    a = acc(code, 0, INT64, code.const(INT64, 0))
    b = acc(code, 1, INT64, code.const(INT64, 1))
    step = code.range("r0", 30, REDUCE)
    total, old = plus(code, a, b), plus(code, b, code.const(INT64, 0))
    sets = (code.emit(Op.SET, VOID, (a, old)), code.emit(Op.SET, VOID, (b, total)))
    ended = code.end(step, *sets)
    result = code.emit(Op.RESULT, INT64, (a, ended), (0,))
    code.write(code.buffer(0, INT64, 1), code.const(INT32, 0), result)
    assert runner.run(code.program(), {})[0] == [832040]


def test_a_read_stays_before_the_store_that_follows_it(runner, code):
    """The value is used once, after the store: written there it would see the new element."""
    zero, one = code.const(INT32, 0), code.const(INT32, 1)
    buffer = code.buffer(0, INT32, 2)
    old = code.read(buffer, zero)
    code.write(buffer, zero, code.const(INT32, 7))
    code.write(buffer, one, old)
    assert runner.run(code.program(), {0: np.array([3, 4], np.int32)})[0].tolist() == [7, 3]


def test_an_if_block_runs_only_where_its_condition_holds(runner, code):
    index, close = runner.index(code, 10)
    seven = code.const(INT32, 7)
    opened = code.emit(Op.IF, VOID, (code.compare(Op.LT, index, seven),))
    tripled = times(code, index, 3)
    written = code.write(code.buffer(0, INT32, 10), index, tripled)
    code.emit(Op.ENDIF, VOID, (opened, written))
    close()
    result = runner.run(code.program(), {0: np.full(10, -1, np.int32)})[0]
    assert result.tolist() == [0, 3, 6, 9, 12, 15, 18, -1, -1, -1]


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_gate_keeps_a_read_off_memory_and_gives_zero(runner, code, lanes):
    """Offsets far outside the buffer: without the gate the process dies."""
    index, close = runner.index(code, 8)
    gate = code.compare(Op.LT, index, code.const(INT32, 5))
    far = times(code, index, 1 << 24)
    offset = code.emit(Op.WHERE, INT32, (gate, times(code, index, lanes), far))
    x = code.read(code.buffer(1, FLOAT32, 5 * lanes), offset, lanes, gate=(gate,))
    code.write(code.buffer(0, FLOAT32, 8 * lanes), times(code, index, lanes), x)
    close()
    data = np.arange(1, 5 * lanes + 1).astype(np.float32)
    result = runner.run(code.program(), {1: data})[0]
    assert result.tolist() == [*data, *[0.0] * 3 * lanes]


def test_a_gate_keeps_a_store_off_memory(runner, code):
    index, close = runner.index(code, 8)
    gate = code.compare(Op.LE, code.const(INT32, 3), index)
    code.write(code.buffer(0, INT32, 8), index, index, gate=(gate,))
    close()
    result = runner.run(code.program(), {0: np.full(8, -1, np.int32)})[0]
    assert result.tolist() == [-1, -1, -1, 3, 4, 5, 6, 7]


def test_bools_are_bytes_in_memory_and_nonzero_is_true(runner, code):
    index, close = runner.index(code, 4)
    x = code.read(code.buffer(1, BOOL, 4), index)
    code.write(code.buffer(0, BOOL, 4), index, code.emit(Op.NOT, BOOL, (x,)))
    close()
    loose = np.array([0, 1, 2, 255], np.uint8).view(bool)
    result = runner.run(code.program(), {1: loose})[0]
    assert result.view(np.uint8).tolist() == [1, 0, 0, 0]


SYMBOLIC = {
    "llvm": """ir 1
%0 = BUFFER int32 slot=0 size=1000
%1 = BUFFER int32 slot=1 size=1000
%2 = CONST int32 value=5 view=none
%3 = VAR int32 name=half lo=0 hi=1000
%4 = RANGE int32 %3 name=int kind=GLOBAL
%5 = READ int32 %1 %4
%6 = MUL int32 %5 %2
%7 = ADD int32 %6 %3
%8 = WRITE void %0 %4 %7
%9 = END void %4 %8
%10 = PROGRAM void %0 %1 %2 %3 %4 %5 %6 %7 %8 %9
""",
    "opencl": """ir 1
%0 = BUFFER int32 slot=0 size=1000
%1 = BUFFER int32 slot=1 size=1000
%2 = CONST int32 value=5 view=none
%3 = VAR int32 name=half lo=0 hi=1000
%4 = SPECIAL int32 %3 name=group0
%5 = READ int32 %1 %4
%6 = MUL int32 %5 %2
%7 = ADD int32 %6 %3
%8 = WRITE void %0 %4 %7
%9 = PROGRAM void %0 %1 %2 %3 %4 %5 %6 %7 %8
""",
}


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_symbolic_size_is_an_argument(runner, size):
    node = parse_node(SYMBOLIC[runner.name])
    data = np.arange(1000, dtype=np.int32)
    start = np.full(1000, -1, np.int32)
    result = runner.run(node, {0: start, 1: data}, {"half": size})[0]
    assert (result[:size] == data[:size] * 5 + size).all()
    assert (result[size:] == -1).all()
    assert (runner.run(node, {0: start, 1: data}, {"half": 0})[0] == -1).all()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "variable n has no value"),
        ({"n": 2.5}, r"variable n is 2\.5, expected an integer"),
        ({"n": "7"}, "variable n is '7', expected an integer"),
    ],
    ids=["none", "a float", "a text"],
)
def test_a_variable_without_an_integer_is_refused(runner, code, given, why):
    size = code.emit(Op.VAR, INT32, (), ("n", 1, 10))
    index = code.range("g0", size)
    code.end(index, code.write(code.buffer(0, INT32, size), index, index))
    program = runner.program(code.program())
    buffer = runner.device.allocate(INT32, 10)
    with pytest.raises(DeviceError, match=why):
        runner.device.build(program)([buffer], given)


def test_a_variable_outside_its_range_is_refused(runner, code):
    size = code.emit(Op.VAR, INT32, (), ("n", 1, 10))
    index = code.range("g0", size)
    code.end(index, code.write(code.buffer(0, INT32, 10), index, index))
    with pytest.raises(DeviceError, match="variable n is 11, expected 1 to 10"):
        runner.run(code.program(), {}, {"n": 11})


def reversed_in_groups(code, groups, items):
    """Each work item stores its element, all wait, each takes its mirror's."""
    group, local = code.special("group0", groups), code.special("local0", items)
    shared = code.emit(Op.LOCAL, FLOAT32, (), ("temp", items))
    position = plus(code, times(code, group, items), local)
    stored = code.write(shared, local, code.read(code.buffer(1, FLOAT32, groups * items), position))
    barrier = code.emit(Op.BARRIER, VOID, (stored,))
    after = code.emit(Op.AFTER, FLOAT32, (shared, barrier))
    mirror = code.emit(Op.SUB, INT32, (code.const(INT32, items - 1), local))
    code.write(code.buffer(0, FLOAT32, groups * items), position, code.read(after, mirror))
    return code.program()


def test_a_group_shares_memory_across_a_barrier(opencl, code):
    data = np.random.default_rng(4).standard_normal((5, 16)).astype(np.float32)
    result = opencl.run(reversed_in_groups(code, 5, 16), {1: data.reshape(-1)})[0]
    assert (result.reshape(5, 16) == data[:, ::-1]).all()


def test_groups_above_the_limit_of_the_device_are_refused(opencl, code):
    too_many = 2 * opencl.device.handle.max_work_group_size
    node = reversed_in_groups(code, 1, too_many)
    with pytest.raises((DeviceError, BuildError), match=f"{too_many}"):
        opencl.run(node, {})


def test_three_dimensions_of_groups_reach_every_element(opencl, code):
    group = [code.special(f"group{d}", size) for d, size in enumerate((3, 2, 5))]
    local = code.special("local1", 4)
    row = plus(code, times(code, group[1], 4), local)
    plane = plus(code, times(code, group[2], 8), row)
    position = plus(code, times(code, plane, 3), group[0])
    code.write(code.buffer(0, INT32, 120), position, position)
    assert (opencl.run(code.program(), {})[0] == np.arange(120)).all()


@pytest.mark.parametrize("op", [Op.SPECIAL, Op.BARRIER])
def test_llvm_refuses_what_needs_work_groups(llvm, code, op):
    match op:
        case Op.SPECIAL:
            code.special("local0", 4)
        case _:
            written = code.write(
                code.buffer(0, INT32, 1), code.const(INT32, 0), code.const(INT32, 0)
            )
            code.emit(Op.BARRIER, VOID, (written,))
    with pytest.raises(BuildError, match=f"llvm: kernel k: .*{op.name}.*: llvm has no such op"):
        llvm.program(code.program())


def test_opencl_refuses_vectors_of_bool(code):
    x = code.read(code.buffer(1, BOOL, 4), code.const(INT32, 0), 4)
    code.write(code.buffer(0, BOOL, 4), code.const(INT32, 0), x)
    node = code.program()
    with pytest.raises(BuildError, match=r"opencl: kernel k: .*there is no type for boolx4"):
        OPENCL.render(node, "k", arguments_of(node), TARGET)
