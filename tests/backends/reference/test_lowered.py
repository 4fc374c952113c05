"""Lowered stages: every form of a kernel computes what its AST says; bad accesses are reported."""

import numpy as np
import pytest
from asts import alu, buffer, contiguous, load, masked_const, matmul, reduce, reduction, sink, store

from compiler.backends.reference import evaluate, lowered, numpy_dtype
from compiler.compile import compile_kernel
from compiler.errors import DeviceError
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    VOID,
    AxisKind,
    Node,
    Op,
    View,
    const,
    intern,
)  # fmt: skip
from compiler.kernel import parse_opt
from compiler.target import LLVM, OPENCL, Target


def shifted_squares(rows: int, columns: int) -> Node:
    """The sum of (x - max)**2 over each row: one reduce inside another's source."""
    shape = (rows, columns, columns)
    first = load(buffer(1, rows * columns, FLOAT32), contiguous(shape, (True, True, False)))
    again = load(buffer(1, rows * columns, FLOAT32), contiguous(shape, (True, False, True)))
    shifted = alu(Op.SUB, again, reduce(Op.MAX, first, "r0"))
    total = reduce(Op.ADD, alu(Op.MUL, shifted, shifted), "r1")
    target = store(buffer(0, rows, FLOAT32), total, contiguous(shape, (True, False, False)))
    return sink([("g0", rows), ("r0", columns), ("r1", columns)], target)


def padded(rows: int, columns: int) -> Node:
    """Sums over a window that hangs over both ends."""
    shape = (rows, columns)
    window = View(shape, (1, 1), -2, ((0, rows), (2, columns)))
    x = alu(Op.ADD, load(buffer(1, rows + columns, FLOAT32), window), const(FLOAT32, 1.0))
    kept = alu(Op.MUL, x, masked_const(FLOAT32, 1.0, View(shape, (0, 0), 0, window.mask)))
    target = store(
        buffer(0, rows, FLOAT32), reduce(Op.ADD, kept, "r0"), contiguous(shape, (True, False))
    )
    return sink([("g0", rows), ("r0", columns)], target)


KERNELS = {
    "sum": reduction(Op.ADD, FLOAT32, 8, 32),
    "max": reduction(Op.MAX, INT32, 8, 20),
    "matmul": matmul(16, 8, 12, FLOAT32),
    "half": reduction(Op.MAX, FLOAT16, 4, 16),
    "bfloat16": reduction(Op.MIN, BFLOAT16, 4, 16),
    "nested": shifted_squares(4, 16),
    "padded": padded(8, 16),
}
OPTS = {
    "none": "",
    "upcast": "UPCAST g0 4",
    "unroll": "UNROLL r0 4",
    "both": "UPCAST g0 2; UNROLL r0 4",
    "pad": "PADTO g0 5; UPCAST g0 5",
    "local": "LOCAL g0 2",
    "group": "GROUP r0 4",
    "grouptop": "GROUPTOP r0 2; UPCAST g0 2",
}
NEEDS_GROUPS = ("local", "group", "grouptop")
SCHEDULES = [
    (target, opts)
    for target in (LLVM, OPENCL)
    for opts in OPTS
    if target is OPENCL or opts not in NEEDS_GROUPS
]


def inputs(root: Node) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(0)
    found: dict[int, np.ndarray] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.src)
        if node.op is Op.BUFFER:
            found[node.attr[0]] = rng.integers(-8, 9, node.attr[1]).astype(numpy_dtype(node.dtype))
    return found


def stages(root: Node, target: Target, opts: str) -> list[tuple[str, Node]]:
    chosen = tuple(parse_opt(part.strip()) for part in opts.split(";") if part.strip())
    compiled = compile_kernel(root, target, opts=chosen)
    return [(stage.name, stage.node) for stage in compiled.stages]


@pytest.mark.parametrize(("target", "opts"), SCHEDULES, ids=lambda x: getattr(x, "backend", x))
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_stage_computes_what_the_ast_says(kernel, target, opts):
    root = KERNELS[kernel]
    memory = inputs(root)
    wanted = evaluate(root, memory)[0].tolist()
    for name, stage in stages(root, target, OPTS[opts]):
        assert evaluate(stage, memory)[0].tolist() == wanted, name


def test_chunks_do_not_change_the_result(monkeypatch):
    root = KERNELS["matmul"]
    memory = inputs(root)
    wanted = evaluate(root, memory)[0].tolist()
    monkeypatch.setattr(lowered, "TEMPORARY_ELEMENTS", 1)
    monkeypatch.setattr(lowered, "LEAST_CHUNK", 8)
    for target in (LLVM, OPENCL):
        for name, stage in stages(root, target, "UPCAST g0 2"):
            assert evaluate(stage, memory)[0].tolist() == wanted, name


# --- by hand ---


def number(value: int) -> Node:
    return const(INT32, value)


def a_range(name: str, size: int, kind: AxisKind = AxisKind.GLOBAL) -> Node:
    return intern(Op.RANGE, INT32, (number(size),), (name, kind))


def special(name: str, size: int) -> Node:
    return intern(Op.SPECIAL, INT32, (number(size),), (name,))


def read(source: Node, offset: Node, *gate: Node) -> Node:
    return intern(Op.READ, source.dtype, (source, offset, *gate))


def write(target: Node, offset: Node, value: Node, *gate: Node) -> Node:
    return intern(Op.WRITE, VOID, (target, offset, value, *gate))


def effects(*nodes: Node) -> Node:
    return intern(Op.SINK, VOID, nodes, ((),))


def test_a_read_beyond_its_buffer_is_reported():
    i = a_range("g0", 5)
    root = effects(write(buffer(0, 5, INT32), i, read(buffer(1, 4, INT32), i)))
    with pytest.raises(DeviceError, match="READ of buffer 1: element 4 of 4"):
        evaluate(root, {1: np.zeros(4, np.int32)})


def test_a_write_before_its_buffer_is_reported():
    i = a_range("g0", 5)
    root = effects(write(buffer(0, 5, INT32), alu(Op.SUB, i, number(1)), i))
    with pytest.raises(DeviceError, match="WRITE of buffer 0: element -1 of 5"):
        evaluate(root, {})


def test_gates_switch_accesses_off_and_a_gated_read_gives_zero():
    i = a_range("g0", 6)
    gate = alu(Op.LT, i, number(4), dtype=BOOL)
    value = alu(Op.ADD, read(buffer(1, 4, INT32), i, gate), number(1))
    root = effects(write(buffer(0, 6, INT32), i, value))
    assert evaluate(root, {1: np.int32([5, 6, 7, 8])})[0].tolist() == [6, 7, 8, 9, 1, 1]
    root = effects(write(buffer(0, 4, INT32), i, i, gate))
    assert evaluate(root, {})[0].tolist() == [0, 1, 2, 3]


def shared(item: Node, *, with_barrier: bool) -> Node:
    """Every item writes its own cell and reads its neighbour's."""
    temp = intern(Op.LOCAL, INT32, (), ("temp0", 4))
    written = write(temp, item, alu(Op.MUL, item, number(10)))
    after = intern(Op.BARRIER, VOID, (written,)) if with_barrier else written
    ready = intern(Op.AFTER, INT32, (temp, after))
    neighbour = alu(Op.MOD, alu(Op.ADD, item, number(1)), number(4))
    group = special("group0", 2)
    offset = alu(Op.ADD, alu(Op.MUL, group, number(4)), item)
    return effects(write(buffer(0, 8, INT32), offset, read(ready, neighbour)))


def test_work_items_share_local_arrays_within_their_group():
    root = shared(special("local0", 4), with_barrier=True)
    assert evaluate(root, {})[0].tolist() == [10, 20, 30, 0] * 2


def test_a_missing_barrier_is_a_race():
    root = shared(special("local0", 4), with_barrier=False)
    with pytest.raises(DeviceError, match="LOCAL temp0: element 1 races"):
        evaluate(root, {})


def test_local_ranges_are_work_items_before_they_become_hardware_indices():
    item = a_range("l0", 4, AxisKind.LOCAL)
    assert evaluate(shared(item, with_barrier=True), {})[0].tolist() == [10, 20, 30, 0] * 2


def test_two_items_that_write_one_cell_race():
    item = special("local0", 4)
    temp = intern(Op.LOCAL, INT32, (), ("temp0", 4))
    written = write(temp, alu(Op.IDIV, item, number(2)), item)
    ready = intern(Op.AFTER, INT32, (temp, intern(Op.BARRIER, VOID, (written,))))
    root = effects(write(buffer(0, 4, INT32), item, read(ready, item)))
    with pytest.raises(DeviceError, match="races"):
        evaluate(root, {})


def vectors_in_local_memory(lanes: int, *, by_one: bool) -> Node:
    """Four items, or one of them, leave the same vector at the same place, and each reads it."""
    item = special("local0", 4)
    temp = intern(Op.LOCAL, INT32, (), ("temp0", lanes))
    vector = intern(Op.STACK, INT32.vec(lanes), tuple([number(lane) for lane in range(lanes)]))
    gate = (alu(Op.LT, item, number(1)),) if by_one else ()
    written = intern(Op.BARRIER, VOID, (write(temp, number(0), vector, *gate),))
    ready = intern(Op.AFTER, INT32, (temp, written))
    whole = intern(Op.READ, vector.dtype, (ready, number(0)))
    last = intern(Op.LANE, INT32, (whole,), (lanes - 1,))
    return effects(write(buffer(0, 4, INT32), item, last))


@pytest.mark.parametrize("lanes", [2, 4, 8])  # fewer than items, as many, and more
def test_lanes_of_a_vector_are_of_one_item(lanes):
    root = vectors_in_local_memory(lanes, by_one=True)
    assert evaluate(root, {})[0].tolist() == [lanes - 1] * 4


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_items_that_write_one_vector_race(lanes):
    with pytest.raises(DeviceError, match="WRITE of LOCAL temp0: element 0 races"):
        evaluate(vectors_in_local_memory(lanes, by_one=False), {})


@pytest.mark.parametrize("amount", [2, 7, 14])
def test_partial_sums_of_vectors_are_of_one_item(amount):
    root = reduction(Op.ADD, FLOAT32, 14, 9)
    memory = inputs(root)
    wanted = evaluate(root, memory)[0].tolist()
    for name, stage in stages(root, OPENCL, f"UPCAST g0 {amount}; GROUPTOP r0 3; PADTO r0.i 2"):
        assert evaluate(stage, memory)[0].tolist() == wanted, name


def test_a_fold_starts_at_the_identity_and_runs_its_ranges_in_order():
    r, s = a_range("r0", 3, AxisKind.REDUCE), a_range("r1", 2, AxisKind.REDUCE)
    offset = alu(Op.ADD, alu(Op.MUL, r, number(2)), s)
    x = read(buffer(1, 6, FLOAT32), offset)
    total = intern(Op.FOLD, FLOAT32, (x, r, s), (Op.ADD, 1))
    root = effects(write(buffer(0, 1, FLOAT32), number(0), total))
    x = np.float32([1e8, 1, -1e8, 1, 1, 1])
    wanted = np.float32(0)
    for value in x:
        wanted = np.float32(wanted + value)
    assert evaluate(root, {1: x})[0].tolist() == [wanted]


def test_what_an_inner_loop_does_not_change_is_taken_from_the_outer_one():
    outer, inner = a_range("r0", 3, AxisKind.REDUCE), a_range("r1", 4, AxisKind.REDUCE)
    square = alu(Op.MUL, outer, outer)
    small = intern(Op.FOLD, INT32, (alu(Op.ADD, square, inner), inner), (Op.ADD, 1))
    total = intern(Op.FOLD, INT32, (small, outer), (Op.MAX, 1))
    i = a_range("g0", 2)
    root = effects(write(buffer(0, 2, INT32), i, alu(Op.ADD, total, i)))
    assert evaluate(root, {})[0].tolist() == [22, 23]


def test_a_program_with_a_guarded_block_runs_it_where_the_condition_holds():
    target = buffer(0, 4, INT32)
    four, two = number(4), number(2)
    i = intern(Op.RANGE, INT32, (four,), ("g0", AxisKind.GLOBAL))
    condition = alu(Op.LT, i, two, dtype=BOOL)
    guard = intern(Op.IF, VOID, (condition,))
    written = write(target, i, four)
    end_if = intern(Op.ENDIF, VOID, (guard,))
    end = intern(Op.END, VOID, (i, written))
    order = (target, four, two, i, condition, guard, written, end_if, end)
    root = intern(Op.PROGRAM, VOID, order)
    assert evaluate(root, {})[0].tolist() == [4, 4, 0, 0]


def test_a_global_range_that_carries_an_accumulator_runs_as_a_loop():
    target, zero, four = buffer(0, 1, INT64), number(0), number(4)
    acc = intern(Op.ACC, INT32, (), (0,))
    start = intern(Op.INIT, VOID, (acc, zero))
    i = intern(Op.RANGE, INT32, (four,), ("g0", AxisKind.GLOBAL))
    following = alu(Op.ADD, acc, i)
    assigned = intern(Op.SET, VOID, (acc, following))
    end = intern(Op.END, VOID, (i, assigned))
    result = intern(Op.RESULT, INT32, (acc, end), (0,))
    wide = alu(Op.CAST, result, dtype=INT64)
    written = write(target, zero, wide)
    order = (target, zero, four, start, i, following, assigned, end, result, wide, written)
    assert evaluate(intern(Op.PROGRAM, VOID, order), {})[0].tolist() == [6]


def test_a_shuffle_counts_the_lanes_of_its_second_source_after_the_firsts():
    x, y = (
        intern(Op.STACK, INT32.vec(2), tuple([number(value) for value in values]))
        for values in ((1, 2), (3, 4))
    )
    both = intern(Op.SHUFFLE, INT32.vec(4), (x, y), ((2, 0, 3, 3),))
    root = effects(write(buffer(0, 4, INT32), number(0), both))
    assert evaluate(root, {})[0].tolist() == [3, 1, 4, 4]


def test_vectors_move_consecutive_elements():
    i = a_range("g0", 2)
    offset = alu(Op.MUL, i, number(2))
    lanes = FLOAT32.vec(2)
    x = intern(Op.READ, lanes, (buffer(1, 4, FLOAT32), offset))
    two = intern(Op.SPLAT, lanes, (const(FLOAT32, 2.0),))
    y = alu(Op.MUL, x, two)
    swapped = intern(
        Op.STACK, lanes, tuple(intern(Op.LANE, FLOAT32, (y,), (index,)) for index in (1, 0))
    )
    root = effects(write(buffer(0, 4, FLOAT32), offset, swapped))
    assert evaluate(root, {1: np.float32([1, 2, 3, 4])})[0].tolist() == [4, 2, 8, 6]
